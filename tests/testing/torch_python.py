"""Goes on in a Python that can import torch, h5py and pandas; or ends with 77, saying what is missing.

RETORT_TORCH_PYTHON names a Python with all of torch (setup.sh --bench). Else the torch that the build links is used together with
the readers of RETORT_READERS_PYTHON (setup.sh --tests): its libraries for GPUs, which setup.sh leaves out, are stood in for
(torch_stubs.py)."""
import glob
import importlib.util
import os
import subprocess
import sys
import tempfile

MARK = "RETORT_TORCH_IS_THERE"
PROBE = "import torch, h5py, pandas; torch.zeros(1)"


def works(python, environment):
    return bool(python) and os.path.exists(python) and subprocess.run(
        [python, "-c", PROBE], env=environment, capture_output=True, check=False).returncode == 0


def go_on(environment, python):
    os.execve(python, [python, *sys.argv], dict(environment, **{MARK: "1"}))


def keep_first(made, folder):
    """Tests that start at the same time make the same folder; the first one's stays."""
    try:
        os.rename(made, folder)
    except OSError:
        if not os.path.isdir(folder):
            raise


def enter(source):
    """Call first thing in a test."""
    if os.environ.get(MARK):
        sys.path.insert(0, os.path.join(source, "python"))
        return
    readers, whole = (os.environ.get(name, "") for name in ("RETORT_READERS_PYTHON", "RETORT_TORCH_PYTHON"))
    for python in (whole, sys.executable, readers):
        if works(python, dict(os.environ)):
            go_on(os.environ, python)
    for torch in glob.glob(os.path.join(source, "build/deps/torch-venv/lib/python3*/site-packages/torch")):
        spec = importlib.util.spec_from_file_location("torch_stubs", os.path.join(source, "tests/testing/torch_stubs.py"))
        stubs = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(stubs)
        folder = os.path.join(source, "build", "torch-stubs")
        if not os.path.isdir(folder):
            with tempfile.TemporaryDirectory(dir=os.path.dirname(folder)) as made:
                stubs.make_stubs(torch, made + "/stubs")
                keep_first(made + "/stubs", folder)
        environment = dict(os.environ, PYTHONPATH=os.path.dirname(torch), LD_LIBRARY_PATH=folder)
        if works(readers, environment):
            go_on(environment, readers)
    print("skipped: no Python here has torch, h5py and pandas; bash cluster/setup.sh --tests brings what is missing")
    sys.exit(77)
