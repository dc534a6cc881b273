"""Retort in Python: results as pandas tables, exported students as torch modules, sweeps that run.

    import retort
    retort.run("quickstart")                       # as `retort run quickstart`
    retort.rows("results/quickstart")              # a table of trials; also claims, curves, samples
    student = retort.load_student("student.pth")   # of `retort export TRIAL student --format torch`
"""
import importlib

_PLACES = {"load_student": "students", "describe_student": "students", "NoStudent": "students", "rows": "results", "claims": "results",
           "curves": "results", "samples": "results", "run": "programs", "RunFailed": "programs", "find_program": "programs"}
__all__ = sorted(_PLACES)


def __getattr__(name):  # torch and pandas are loaded by what needs them
    if name in _PLACES:
        return getattr(importlib.import_module(f"retort.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'retort' has no attribute {name!r}")


def __dir__():
    return __all__
