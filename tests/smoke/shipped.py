"""The shipped sweeps that have a smoke profile, and how they are called."""
import glob
import json
import os
import subprocess


def shipped(source):
    """Paths relative to experiments/configs, sorted."""
    configs = os.path.join(source, "experiments", "configs")
    found = sorted(glob.glob(os.path.join(configs, "*", "*.toml")))
    return [os.path.relpath(path, configs) for path in found]


def selects(path):
    """Whether the sweep is a private selection, which releases one trial alone and serves no metrics."""
    with open(path, encoding="utf-8") as file:
        return "\nselect = " in file.read()


def path_of(source, name):
    return os.path.join(source, "experiments", "configs", name)


class Retort:
    """The program, in an environment without data but for `data`, with a cache of its own below `folder`."""

    def __init__(self, program, folder, data=None):
        self.program = program
        self.environment = {k: v for k, v in os.environ.items() if k != "RETORT_DATA"}
        self.environment["RETORT_PICTURE_CACHE"] = os.path.join(folder, "cache")
        if data is not None:
            self.environment["RETORT_DATA"] = data

    def call(self, *arguments, seconds=120):
        return subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False,
                              env=self.environment, timeout=seconds)

    def json(self, *arguments, seconds=120):
        """Exit status, and the one document on standard output."""
        done = self.call(*arguments, "--json", seconds=seconds)
        return done.returncode, json.loads(done.stdout)
