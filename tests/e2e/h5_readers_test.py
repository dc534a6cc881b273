"""results.h5 and attempt.h5 as pandas, h5py, xarray and h5dump see them: the lines of storage/FORMAT.md and the
example script, run on files that the program under test writes.

usage: h5_readers_test.py SAMPLE_RESULTS_PROGRAM
RETORT_READERS_PYTHON names a Python that has the readers, where the one that runs this lacks them. Without
any the test skips (exit 77); RETORT_FORBID_SKIPS=1 makes that a failure.
"""
import glob
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings

SKIPPED = 77
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def skip_unless_readers():
    missing = []
    for module in ("pandas", "tables", "h5py", "xarray", "h5netcdf"):
        try:
            __import__(module)
        except ImportError:
            missing.append(module)
    if not missing:
        return
    other = os.environ.pop("RETORT_READERS_PYTHON", "")
    if other:
        os.execv(other, [other] + sys.argv)
    message = f"h5_readers_test: {sys.executable} lacks {', '.join(missing)} (pip install pandas tables h5py xarray h5netcdf)"
    if os.environ.get("RETORT_FORBID_SKIPS") == "1":
        sys.exit(f"FAILED, skips are forbidden: {message}")
    print(f"SKIPPED: {message}")
    sys.exit(SKIPPED)


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def check_pandas(path):
    import pandas

    rows = pandas.read_hdf(path, "rows")
    check(len(rows) == 2, f"two rows: {rows}")
    for column in ("trial", "name", "method", "reading", "teacher", "data", "seed", "state", "attempts",
                   "test_accuracy", "row_digest", "sigma", "axis_method"):
        check(column in rows.columns, f"column {column} in {list(rows.columns)}")
    check(rows.test_accuracy[0] == 0.8125, "accuracy is exact")
    check(rows.test_accuracy.isna()[1], "a failed trial has no accuracy")
    check(rows.seed[0] == 2**64 - 1, "seeds are unsigned")
    check(list(rows.sigma) == [100.0, 2.5], "a numeric axis has numbers")
    check([text(m) for m in rows["method"]] == ["dpdfd", "dpsgd"], f"texts: {list(rows['method'])}")
    claims = pandas.read_hdf(path, "claims")
    check(list(claims.epsilon) == [2.998, float("inf")], "claims carry infinity")
    check(text(claims.reason[0]) == "μ² = Σ Δ²/σ²", "texts are UTF-8")
    ledger = pandas.read_hdf(path, "ledger")
    check(ledger["count"][0] == 64 and ledger["used"][0] == 40, "the ledger says what was used")
    timings = pandas.read_hdf(path, "provenance/timings")
    check(list(timings.value) == [12.5, 0.25], "timings")


def check_h5py(path):
    import h5py

    with h5py.File(path, "r") as file:
        check(file.attrs["Conventions"] in ("Retort-1", b"Retort-1"), "conventions")
        check(file["rows"]["test_accuracy"][0] == 0.8125, "columns by name")
        units = json.loads(text(file["rows"].attrs["column_units"]))
        check(units["test_accuracy"] == "1" and set(units) < set(file["rows"].dtype.names), f"units of columns: {units}")
        units = json.loads(text(file["claims"].attrs["column_units"]))
        check(units == {"delta": "1", "epsilon": "1", "lower": "1"}, f"units of columns: {units}")
        check(text(file["rows"]["name"][0]) == "dpdfd-sound-digits-s0", "names")
        student = file["attempts/1f3a9c2e00000001/student/fc2.weight"][:]
        check(list(student) == [1.0, 2.0, 3.0], "links reach the attempts")
        images = file["attempts/1f3a9c2e00000001/samples/images"]
        check(images.chunks == (1, 1, 2, 3), "a chunk per image")


def check_xarray(path):
    import xarray

    curves = xarray.open_dataset(path, group="curves/dpdfd-sound-digits-s0-1f3a9c2e00000001", engine="h5netcdf",
                                 phony_dims="access")
    check(list(curves["loss.student"].values) == [2.5, 1.25, 0.625], "a curve")
    check(curves["loss.student"].dims == ("step",), f"its dimension: {curves['loss.student'].dims}")
    check(list(curves.step.values) == [0, 1, 2], "its steps")
    check(float(curves["test.accuracy"].sel(step=2)) == 0.875, "by step")
    check(bool(curves["test.accuracy"].isnull()[0]), "no point, no value")
    check("seconds" not in curves, "no timings among the curves")
    curves.close()


def nameless(path):
    """Datasets that do not say what they are, and axes of curves, pictures and matrices without a scale."""
    import h5py

    found = []

    def look(name, item):
        if not isinstance(item, h5py.Dataset):
            return
        if not text(item.attrs.get("long_name", "")):
            found.append(name)
        top = name.split("/")[0] if not name.startswith("provenance/curves") else "curves"
        if top in ("curves", "samples", "evaluation") and not item.is_scale:
            found.extend(f"{name}, axis {axis}" for axis, dim in enumerate(item.dims) if len(dim) != 1)

    with h5py.File(path, "r") as file:
        file.visititems(look)
    return found


def check_names(results, attempt):
    import h5py

    for path in (results, attempt):
        with h5py.File(path, "r") as file:
            check(text(file.attrs["Conventions"]) == "Retort-1", f"{path} says what it is")
            check("retort" in text(file.attrs["history"]), f"{path} says what wrote it")
        check(not nameless(path), f"{path} leaves without a name: {nameless(path)}")
    earlier = os.path.join(SOURCE, "tests", "fixtures", "h5", "attempt-without-names.h5")
    check("samples/images" in nameless(earlier) and "samples/images, axis 0" in nameless(earlier),
          "a dataset without a name is seen")


def check_axes(attempt):
    import xarray

    with xarray.open_dataset(attempt, group="samples", engine="h5netcdf", phony_dims="access") as samples:
        check(samples["images"].dims == ("sample", "channel", "row", "column"), f"pictures: {samples['images'].dims}")
        check(samples["released"].dims == ("sample", "coordinate"), f"releases: {samples['released'].dims}")
        check(int(samples["images"].sel(sample=1, channel=0, row=0, column=0)) == 255, "pictures by place")
    with xarray.open_dataset(attempt, group="evaluation", engine="h5netcdf", phony_dims="access") as evaluation:
        check(int(evaluation["confusion"].sel(true_class=1, predicted_class=0)) == 2, "the confusion matrix by class")
    with xarray.open_dataset(attempt, group="curves", engine="h5netcdf", phony_dims="access") as curves:
        check(curves["seconds"].attrs["units"] == "s", "times are in seconds")
        check(curves["seconds"].dtype.kind == "f", "a time stays a number")
        check(curves["test.accuracy"].attrs["long_name"].startswith("fraction"), "curves have names")


def tool(name):
    path = shutil.which(name)
    check(path or os.environ.get("RETORT_FORBID_SKIPS") != "1", f"{name} is missing (apt-get install hdf5-tools)")
    if not path:
        print(f"{name} is missing: not tried")
    return path


def documented_lines(first_word):
    with open(os.path.join(SOURCE, "storage", "FORMAT.md"), encoding="utf-8") as page:
        return [line for line in page if line.startswith(first_word + " ")]


def check_documented_lines(folder):
    lines = documented_lines("python3 -c")
    expected = ("dpdfd-sound-digits-s0", "0.8125", "loss.student", "column")
    check(len(lines) == len(expected), f"{len(expected)} documented lines, found {len(lines)}")
    for line, word in zip(lines, expected):
        program = shlex.split(line)[2]
        run = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=folder, capture_output=True, text=True)
        check(run.returncode == 0 and word in run.stdout, f"{line}{run.stdout}{run.stderr}")
    lines = documented_lines("h5dump") + documented_lines("h5ls")
    check(len(lines) == 3, f"three lines of the HDF5 tools, found {len(lines)}")
    for line, word in zip(lines, ("dpsgd-digits-s1", "pictures for which something was released", "student")):
        if tool(line.split()[0]):
            run = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True)
            check(run.returncode == 0 and word in run.stdout, f"{line}{run.stdout}{run.stderr}")


def check_example(folder):
    example = os.path.join(SOURCE, "experiments", "examples", "read_results.py")
    with open(example, encoding="utf-8") as file:
        check(file.read().count("\n# %%") >= 5, "the example consists of cells")
    wanted = ("succeeded  81.25%", "0.625 at step      2", "proven", "sample 2 x channel 1", "[2 8]")
    hide = "import sys; sys.modules.update(dict.fromkeys(('pandas', 'tables', 'xarray', 'h5netcdf')));"
    script = f"sys.argv = ['x', 'results/quickstart']; import runpy; runpy.run_path({example!r}, run_name='__main__')"
    alone = [sys.executable, "-W", "error", "-c", hide + script]
    for command, more in (([sys.executable, "-W", "error", example, "results/quickstart"], "Coordinates:"), (alone, "no pandas here")):
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        check(run.returncode == 0, f"{example}: {run.stderr}")
        for word in (*wanted, more):
            check(word in run.stdout, f"{example} prints {word!r}: {run.stdout}")


def main():
    skip_unless_readers()
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results", "quickstart")
        os.makedirs(results)
        subprocess.run([sys.argv[1], results], check=True)
        path = os.path.join(results, "results.h5")
        check_pandas(path)
        check_h5py(path)
        check_xarray(path)
        attempt = glob.glob(os.path.join(results, "trials", "*", "attempt-*", "attempt.h5"))[0]
        check_names(path, attempt)
        check_axes(attempt)
        check_documented_lines(folder)
        check_example(folder)
    print("ok")


if __name__ == "__main__":
    main()
