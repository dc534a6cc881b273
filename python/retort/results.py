"""Results folders as pandas tables: what storage/FORMAT.md says of results.h5 and attempt.h5. Needs h5py and pandas."""
import json
import pathlib

SAMPLE_PARTS = ("images", "released", "step")


def import_readers():
    try:
        import h5py
        import pandas
    except ImportError as missing:
        raise ImportError(f"{missing.name} is not installed; pip install h5py pandas") from missing
    return h5py, pandas


def find_file(results):
    """results.h5 of a results folder; the file itself is taken, too."""
    path = pathlib.Path(results)
    file = path / "results.h5" if path.is_dir() else path
    if not file.exists():
        raise FileNotFoundError(f"there is no {file}: give the results folder of a sweep that has run, as results/quickstart")
    return file


def decode(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def read_table(results, name):
    """A compound dataset, its bytes as text."""
    h5py, pandas = import_readers()
    with h5py.File(find_file(results)) as file:
        table = file[name][:]
    return pandas.DataFrame({column: [decode(value) for value in table[column].tolist()] for column in table.dtype.names},
                            columns=list(table.dtype.names))


def rows(results):
    """A row a trial: what it was, its state, its metrics (NaN where it has none)."""
    return read_table(results, "rows")


def claims(results):
    """A row a claim, with the name of its trial; `assumptions` is a list, ∞ is inf, `lower` NaN where nothing was audited."""
    table = read_table(results, "claims")
    if "assumptions" in table:
        table["assumptions"] = [json.loads(text or "[]") for text in table["assumptions"]]
    named = rows(results)
    names = dict(zip(named["trial"], named["name"]))
    table.insert(1, "name", [names.get(trial, "") for trial in table["trial"]])
    return table


def curves(results, trial=None):
    """Long form: trial (NAME-ID), curve, step, value, without the steps at which a curve has no point. `trial`: a name, an
    id or a prefix of NAME-ID that fits one."""
    h5py, pandas = import_readers()
    parts = []
    with h5py.File(find_file(results)) as file:
        groups = file["curves"]
        for folder in [choose_trial(groups, trial)] if trial else list(groups):
            for name, curve in groups[folder].items():
                if curve.is_scale:
                    continue
                values, step = curve[:], groups[folder]["step"][:]
                there = values == values
                parts.append(pandas.DataFrame({"trial": folder, "curve": name, "step": step[there], "value": values[there]}))
    empty = pandas.DataFrame({"trial": [], "curve": [], "step": [], "value": []})
    return pandas.concat(parts, ignore_index=True) if parts else empty


def choose_trial(names, trial):
    """The only name that is NAME-ID, the name without the id, the id, or begins with the word."""
    exact = [name for name in names if trial in (name, name.rpartition("-")[0], name.rpartition("-")[2])]
    found = exact or [name for name in names if name.startswith(trial) or name.rpartition("-")[2].startswith(trial)]
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} trials are" if found else "no trial is"
    raise KeyError(f"{what} called {trial!r}; there are {', '.join(sorted(found or names))}")


def samples(results, trial):
    """What the trial's generator made: a dict of arrays `images` (u8 [n, channels, height, width]), `released`, `step`, and
    `mean`, `std` (pixel = (u8 / 255 - mean) / std) and `claim` of the pictures."""
    h5py, _ = import_readers()
    path = find_file(results)
    with h5py.File(path) as file:
        attempts, named = file["attempts"], {}
        for row in file["rows"][:]:
            named[f"{decode(row['name'])}-{decode(row['trial'])}"] = decode(row["trial"])
        identity = named[choose_trial(named, trial)]
        if identity not in attempts:
            raise KeyError(f"{trial} left no attempt to read: only a trial that has ended does")
        attempt = attempts[identity]
        if "samples" not in attempt:
            raise KeyError(f"{trial} kept no samples: only methods with a generator do")
        group = attempt["samples"]
        found = {part: group[part][:] for part in SAMPLE_PARTS}
        attributes = group["images"].attrs
        found.update({key: decode(attributes[key]) for key in ("mean", "std", "claim") if key in attributes})
    return found
