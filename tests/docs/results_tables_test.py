"""Plants each kind of fault between a page's table and its rows and sees results_tables.py find it.

usage: results_tables_test.py --root DIR --retort PROGRAM
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = RETORT = ""
SWEEPS = ("proven/mnist", "imagenette/mobilenet", "digits/membership", "proven/mnist-selected", "proven/mnist-selected-epsilon-3",
          "proven/mnist-selected-epsilon-8")
PAGE, ROWS = "experiments/RESULTS.md", "experiments/results/proven/mnist.rows"


class ResultsTables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for name in ("experiments/configs", "experiments/results"):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(self.root, name))
        os.symlink(os.path.join(ROOT, "experiments/data"), os.path.join(self.root, "experiments/data"))
        # A table of each kind stands for all.
        with open(os.path.join(ROOT, PAGE), encoding="utf-8") as file:
            text = re.sub(rf"<!-- rows: (?!{'|'.join(SWEEPS)} ).*?<!-- end of rows -->\n", "", file.read(), flags=re.DOTALL)
        with open(os.path.join(self.root, PAGE), "w", encoding="utf-8") as file:
            file.write(text)
        for folder, _, names in os.walk(os.path.join(self.root, "experiments/results")):
            for path in (os.path.join(folder, name) for name in names):
                if os.path.relpath(path, os.path.join(self.root, "experiments/results")).removesuffix(".rows") not in SWEEPS:
                    os.remove(path)

    def edit(self, path, pattern, replacement):
        path = os.path.join(self.root, path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        edited, count = re.subn(pattern, replacement, text, count=1, flags=re.DOTALL)
        self.assertEqual(count, 1)
        with open(path, "w", encoding="utf-8") as file:
            file.write(edited)

    def check(self, *words):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tests/docs/results_tables.py"), "--root", self.root, "--retort",
                               RETORT, *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_a_page_as_its_rows_passes(self):
        self.assertEqual(self.check(), (0, ""))

    def test_another_figure_is_found_and_mended(self):
        self.edit(PAGE, r"(<!-- rows: proven/mnist proven -->.*?)\| (\d)(\d\.\d\d)", r"\1| 1\3")
        code, said = self.check()
        self.assertEqual(code, 1)
        self.assertIn("the table of proven/mnist is not what its rows give", said)
        self.assertEqual(self.check("--write"), (0, ""))
        self.assertEqual(self.check(), (0, ""))

    def test_another_bound_of_an_attack_is_found(self):
        self.edit(PAGE, r"(<!-- membership: digits/membership -->.*?`dpsgd`[^\n]*?ε ≥ 0\.)1", r"\g<1>9")
        code, said = self.check()
        self.assertEqual(code, 1)
        self.assertIn("the table of digits/membership is not what its rows give", said)
        self.assertEqual(self.check("--write"), (0, ""))
        self.assertEqual(self.check(), (0, ""))

    def test_rows_without_an_audit_make_no_table(self):
        self.edit(PAGE, "<!-- rows: imagenette/mobilenet imagenette -->", "<!-- membership: imagenette/mobilenet -->")
        code, said = self.check()
        self.assertEqual(code, 1)
        self.assertIn("imagenette/mobilenet: no trial has an audit of membership", said)

    def test_rows_that_were_edited_are_refused(self):
        self.edit(ROWS, r'("test\.accuracy",0\.)\d', r"\g<1>1")
        code, said = self.check()
        self.assertEqual(code, 1)
        self.assertIn("proven/mnist", said)

    def test_rows_on_no_page_are_found(self):
        self.edit(PAGE, r"<!-- rows: proven/mnist proven -->.*?<!-- end of rows -->\n", "")
        code, said = self.check()
        self.assertEqual(code, 1)
        self.assertIn("proven/mnist.rows is on no page", said)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--retort", required=True)
    options, rest = parser.parse_known_args()
    ROOT, RETORT = options.root, options.retort
    unittest.main(argv=[sys.argv[0], *rest])
