#!/usr/bin/env python3
"""`retort schema` is what editors read beside the shipped sweeps: the file there is the program's, every sweep names it in its first
line and fits it, and what a user mistypes does not. A validator of JSON Schema draft-07 judges.

usage: schema_test.py --retort RETORT --source DIR
Exit 77 where no Python has jsonschema (bash cluster/setup.sh --tests brings it); what needs none is checked all the same.
"""
import argparse
import copy
import glob
import json
import os
import subprocess
import sys

READERS = os.environ.get("RETORT_READERS_PYTHON", "")
try:
    import tomllib

    import jsonschema
except ImportError:
    jsonschema = None
    if os.path.exists(READERS) and os.path.realpath(sys.prefix) != os.path.realpath(os.path.dirname(os.path.dirname(READERS))):
        os.execv(READERS, [READERS, *sys.argv])

TRIAL = {"method": "dpdfd", "reading": "sound", "teacher": "t", "steps": 10}
WHOLE = {"retort": 1,
         "data": {"digits": {"reader": "idx", "path": "digits", "split": {"shuffle": 1, "train": [0, 10], "test": [10, 20]}}},
         "teacher": {"t": {"network": "logistic", "private": {"epsilon": 3}}},
         "trial": TRIAL,
         "sweep": {"name": "one", "seeds": [0, 1], "grid": {"sigma": [1, 2]}, "zip": {"row": [{"epsilon": 1}]}},
         "table": {"one": {"rows": ["method"], "columns": ["data"], "metric": "test.accuracy"}},
         "profile": {"smoke": {"trial": {"steps": 2}}}}
# What was mistyped: where it stands, and the value there.
MISTYPED = {
    "a key of [trial] that is none": (("trial", "stepz"), 10),
    "a key of [sweep] that is none": (("sweep", "seed"), [0]),
    "a key of a data set that is none": (("data", "digits", "pth"), "digits"),
    "a key of a split that is none": (("data", "digits", "split", "tets"), [10, 20]),
    "a key of a teacher that is none": (("teacher", "t", "netwrok"), "logistic"),
    "a key of `private` that is none": (("teacher", "t", "private", "epsilom"), 3),
    "a reading that there is not": (("trial", "reading"), "soud"),
    "a number that is a text": (("trial", "steps"), "10"),
    "a number below its least": (("trial", "steps"), -1),
    "a seed that is no number": (("sweep", "seeds"), ["zero"]),
    "an axis that no key has": (("sweep", "grid", "sigmma"), [1]),
    "a key of a row that is none": (("sweep", "zip", "row"), [{"epsilonn": 1}]),
    "a table at the top that is none": (("tabel",), {}),
    "a key of a profile that is none": (("profile", "smoke", "trial", "stepz"), 2),
    "another version of the format": (("retort",), 2),
}


def put(document, path, value):
    changed = copy.deepcopy(document)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return changed


def check_files(source, text):
    folder = os.path.join(source, "experiments", "configs")
    with open(os.path.join(folder, "sweep.schema.json"), encoding="utf-8") as file:
        assert file.read() == text, "experiments/configs/sweep.schema.json is not the program's: retort schema > it"
    sweeps = sorted(glob.glob(os.path.join(folder, "**", "*.toml"), recursive=True))
    assert len(sweeps) > 50, sweeps
    for path in sweeps:
        with open(path, encoding="utf-8") as file:
            first = file.readline()
        named = os.path.relpath(os.path.join(folder, "sweep.schema.json"), os.path.dirname(path))
        assert first == f"#:schema {named}\n", f"{path} begins with {first!r}, and not with #:schema {named}"
    return sweeps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--retort", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    text = subprocess.run([options.retort, "schema"], capture_output=True, text=True, check=True).stdout
    sweeps = check_files(options.source, text)
    if jsonschema is None:
        print("skipped: no jsonschema here; bash cluster/setup.sh --tests brings it")
        return 77
    schema = json.loads(text)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#", schema["$schema"]
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    for path in sweeps:
        with open(path, "rb") as file:
            wrong = [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(tomllib.load(file))]
        assert not wrong, f"{path}: {wrong}"
    assert validator.is_valid(WHOLE), [error.message for error in validator.iter_errors(WHOLE)]
    for what, (path, value) in MISTYPED.items():
        assert not validator.is_valid(put(WHOLE, path, value)), f"{what} is let through"
    print(f"{len(sweeps)} sweeps fit, {len(MISTYPED)} mistakes do not")
    return 0


if __name__ == "__main__":
    sys.exit(main())
