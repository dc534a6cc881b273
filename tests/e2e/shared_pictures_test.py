#!/usr/bin/env python3
"""Students that are taught on public pictures: where one of these is a private picture too, whatever its label, no student
comes of it, and the message names both; where none is, the same sweep succeeds."""
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import all_tests_pass, parse_options

SIDE, PRIVATE, PUBLIC, TEST = 12, 40, 16, 12
SWEEP = """
retort = 1
[data.noise]
reader = "idx"
path = "pictures"
split = {{ train = [0, 40], public = [40, 56], test = [56, 68] }}
[teacher]
shards = {{ network = "logistic", members = 4, epochs = 1, batch = 8 }}
plain = {{ network = "logistic", epochs = 1, batch = 8 }}
private = {{ network = "logistic", steps = 2, batch = 8, private = {{ noise_multiplier = 1.0 }} }}
[trial]
student = "logistic"
threads = 1
delta = 1e-5
{row}
"""
STUDENTS = {
    "votes": 'method = "dpdfd"\nreading = "sound"\nsource = "public"\nteacher = "shards"\nqueries = 8\nvote_noise = 4\nlabel_steps = 2',
    "pate": 'method = "pate"\nteacher = "shards"\nqueries = 8\nvote_noise = 4\nlabel_steps = 2',
    "rona": 'method = "rona"\nreading = "sound"\nteacher = "shards"\nqueries = 8\nvote_noise = 4\nhint_epochs = 0\n'
            'warm_epochs = 1\nrounds = 1',
    "rona, asking nobody": 'method = "rona"\nteacher = "plain"\nhint_epochs = 0\ndistill_epochs = 0\nself_epochs = 1',
    "rona, as printed": 'method = "rona"\nreading = "printed"\nteacher = "plain"\nhint_epochs = 0\nauxiliary_epochs = 1\n'
                        'rounds = 1\ndistill_epochs = 1\nself_epochs = 1',
    "labelled": 'method = "dpdfd"\nreading = "sound"\nsource = "public"\nteacher = "private"\nlabel_steps = 2',
    "mixes": 'method = "dpdfd"\nreading = "sound"\nsource = "public-mixes"\nteacher = "private"\nsteps = 2\nbatch = 8\n'
             'replay = 2\nstudent_steps = 2\nstudent_batch = 8',
}


def pictures(twin):
    """Random ones; the public one of that number is private picture 3."""
    generator = random.Random(7)
    made = [generator.randbytes(SIDE * SIDE) for _ in range(PRIVATE + PUBLIC + TEST)]
    if twin is not None:
        made[PRIVATE + twin] = made[3]
    return made


class SharedPictures(unittest.TestCase):
    def run_student(self, row, twin):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        data = os.path.join(folder.name, "pictures")
        os.mkdir(data)
        made = pictures(twin)
        with open(os.path.join(data, "t10k-images-idx3-ubyte"), "wb") as file:
            file.write(struct.pack(">4I", 0x803, len(made), SIDE, SIDE) + b"".join(made))
        with open(os.path.join(data, "t10k-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">2I", 0x801, len(made)) + bytes(i % 10 for i in range(len(made))))
        with open(os.path.join(folder.name, "s.toml"), "w", encoding="utf-8") as file:
            file.write(SWEEP.format(row=row))
        done = subprocess.run([OPTIONS.retort, "run", "s.toml", "--slots", "1", "--metrics-listen", "none"], cwd=folder.name,
                              capture_output=True, text=True, timeout=120, check=False)
        listed = subprocess.run([OPTIONS.retort, "list", "--results", "results/s"], cwd=folder.name, capture_output=True, text=True,
                                check=False)
        return done, listed.stdout

    def test_students_of_public_pictures_succeed(self):
        for name, row in STUDENTS.items():
            with self.subTest(name):
                done, _ = self.run_student(row, None)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_public_picture_that_is_private_ends_them(self):
        for name, row in STUDENTS.items():
            for twin in (0, PUBLIC - 1):
                with self.subTest(name, twin=twin):
                    done, listed = self.run_student(row, twin)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn(f"Picture {twin} of the public split is picture 3 of the private one", done.stderr)
                    self.assertIn("failed", listed)


if __name__ == "__main__":
    OPTIONS = parse_options("retort")
    OPTIONS.retort = os.path.abspath(OPTIONS.retort)
    sys.exit(0 if all_tests_pass() else 1)
