# Reads the results of a sweep with h5py alone (pip install h5py). The cells marked # %% run one by one in
# Jupyter, VS Code and Spyder, and all at once from the command line:
#     python3 experiments/examples/read_results.py results/quickstart
# The layout is in storage/FORMAT.md; every dataset says what it is in its attributes long_name and units.

# %% Which results
import math
import os
import sys

import h5py

results = "results/quickstart"
if "__file__" in globals() and len(sys.argv) > 1:  # a script; a notebook has no file
    results = sys.argv[1]
path = os.path.join(results, "results.h5")  # a running sweep replaces it whenever a trial ends: open it again


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def what_is(dataset):  # "loss of the student [1]"; files of earlier versions do not say
    return f"{text(dataset.attrs.get('long_name', '-'))} [{text(dataset.attrs.get('units', '-'))}]"


def datasets_below(group):  # an ensemble has a group a member
    found = []
    group.visititems(lambda _, item: found.append(item) if isinstance(item, h5py.Dataset) else None)
    return found


# %% One row a trial: what it was, what came out
with h5py.File(path) as file:
    rows = file["rows"][:]  # a structured array: a column by its name
    print(text(file.attrs["sweep"]), "has", len(rows), "rows")
    print("columns:", ", ".join(rows.dtype.names))
for row in rows:
    accuracy = row["test_accuracy"]  # NaN where the trial failed
    print(f"{text(row['name']):40} {text(row['state']):10} {'-' if accuracy != accuracy else f'{accuracy:.2%}'}")

# %% What each is worth: an epsilon never without what it protects and whether it is proven
with h5py.File(path) as file:
    claims = file["claims"][:]


def rounded_up(epsilon):
    return "inf" if math.isinf(epsilon) else f"{math.ceil(epsilon * 1000) / 1000:.3f}"


name_of = {row["trial"]: text(row["name"]) for row in rows}
for claim in claims:
    print(f"{name_of[claim['trial']]:40} {text(claim['adjacency']):8} {text(claim['neighbour']):11} "
          f"epsilon {rounded_up(claim['epsilon']):>11} at delta {claim['delta']:.0e}  {text(claim['status'])} "
          f"({text(claim['accountant']) or text(claim['reason'])})")

# %% How they got there: curves share the dimension `step`; a curve without a point there is NaN
with h5py.File(path) as file:
    for trial, curves in file["curves"].items():
        for name, curve in curves.items():
            if curve.is_scale:
                continue
            step = curve.dims[0][0][:]
            there = curve[:] == curve[:]  # not NaN
            if there.any():
                print(f"{trial:56} {name:24} {curve[:][there][-1]:10.4g} at step {step[there][-1]:6}  "
                      f"{what_is(curve)}")

# %% Behind a row lies its attempt: network, pictures, confusion matrix
with h5py.File(path) as file:
    for row in rows:
        if not row["attempt_file"]:
            continue  # it failed
        attempt = file["attempts"][text(row["trial"])]  # a link into the trial's attempt.h5
        print(text(row["name"]), "-", text(attempt.attrs["history"]))
        for group in ("student", "teacher", "generator"):
            if group in attempt:
                tensors = datasets_below(attempt[group])
                print(f"  {group}: {len(tensors)} tensors, {sum(tensor.size for tensor in tensors)} values")
        if "samples" in attempt:
            images = attempt["samples/images"]
            axes = [f"{dim[0].name.rsplit('/')[-1]} {size}" if len(dim) else str(size)
                    for dim, size in zip(images.dims, images.shape)]
            print("  samples:", " x ".join(axes), "-", what_is(images), "-", text(images.attrs["claim"]))
        if "evaluation" in attempt:
            confusion = attempt["evaluation/confusion"]
            print(f"  accuracy {confusion.attrs['accuracy']:.2%} of {confusion.attrs['n']}; rows are true classes")
            print(confusion[:])

# %% The same table in pandas, the same curves in xarray, where they are installed
try:
    import pandas

    print(pandas.read_hdf(path, "rows").groupby("method")["test_accuracy"].agg(["mean", "std", "count"]))
except ImportError as missing:
    print("no pandas here:", missing)
try:
    import xarray

    with h5py.File(path) as file:
        trials = list(file["curves"])
    for trial in trials[:1]:
        print(xarray.open_dataset(path, group=f"curves/{trial}", engine="h5netcdf", phony_dims="access"))
except (ImportError, ValueError) as missing:  # ValueError: xarray is there, h5netcdf is not
    print("no xarray here:", missing)
