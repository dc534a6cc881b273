#!/usr/bin/env python3
"""What ONNX and ONNX Runtime make of a model: checks it in full, answers, and prints its metadata as JSON.

usage: onnx_answers.py MODEL.onnx OUT.npy INPUT.npy...      one array for each input, in order; the first output
As a module: enter() goes on in a Python that has both, or ends with 77, saying what is missing.
"""
import os
import subprocess
import sys

PROBE = "import numpy, onnx, onnxruntime"


def find_python():
    """A Python that can import ONNX and ONNX Runtime, or None."""
    for python in (os.environ.get("RETORT_READERS_PYTHON", ""), sys.executable):
        if python and os.path.exists(python) and subprocess.run([python, "-c", PROBE], capture_output=True, check=False).returncode == 0:
            return python
    return None


def enter():
    python = find_python()
    if python is None:
        print("skipped: no Python here has onnx and onnxruntime; bash cluster/setup.sh --tests brings them")
        sys.exit(77)
    if os.path.realpath(sys.prefix) != os.path.realpath(os.path.dirname(os.path.dirname(python))):
        os.execve(python, [python, *sys.argv], os.environ)


def check(path):
    """The model. Errors are those of ONNX's checker, which infers every shape."""
    import onnx
    onnx.checker.check_model(path, full_check=True)
    return onnx.load(path)


def open_model(data):
    """An InferenceSession of a path or of bytes, on one thread, that says nothing but errors."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def answer(session, arrays):
    return session.run(None, {place.name: array for place, array in zip(session.get_inputs(), arrays, strict=True)})[0]


def main():
    import json

    import numpy
    model, out, *inputs = sys.argv[1:]
    print(json.dumps({entry.key: entry.value for entry in check(model).metadata_props}))
    numpy.save(out, answer(open_model(model), [numpy.load(path) for path in inputs]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
