"""results.h5 as pandas, h5py and xarray see it: the lines of storage/FORMAT.md, run on a file that the
program under test writes.

usage: h5_readers_test.py SAMPLE_RESULTS_PROGRAM
RETORT_READERS_PYTHON names a Python that has the readers, where the one that runs this lacks them. Without
any the test skips (exit 77); RETORT_FORBID_SKIPS=1 makes that a failure.
"""
import os
import shlex
import subprocess
import sys
import tempfile
import warnings

SKIPPED = 77


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


def check_documented_lines(folder):
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "storage", "FORMAT.md"), encoding="utf-8") as page:
        lines = [line for line in page if line.startswith("python3 -c ")]
    check(len(lines) == 3, f"three documented lines, found {len(lines)}")
    for line, expected in zip(lines, ("dpdfd-sound-digits-s0", "0.8125", "loss.student")):
        program = shlex.split(line)[2]
        run = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=folder, capture_output=True, text=True)
        check(run.returncode == 0 and expected in run.stdout, f"{line}{run.stdout}{run.stderr}")


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
        check_documented_lines(folder)
    print("ok")


if __name__ == "__main__":
    main()
