"""Plants each kind of fault in a page of a scratch tree and sees check_docs.py find it there; pages without one pass.

usage: check_docs_test.py --retort PROGRAM
"""
import contextlib
import os
import subprocess
import sys
import tempfile
import unittest

import check_docs

PATH = ""       # of the program
PROGRAM = None  # asked once for all cases

VARIABLE = "RETORT" + "_KNOWN"  # in one piece it would be one that this test reads
GOOD = """# A page

See `storage/log.h`, `storage/{log.h,log.cc}`, `storage/*.h`, [the log](storage/log.h) and [below](#a-part-of-it).
`kMaxBytes` and `Open()` are of the sources, `trial.steps`, `method = "dpdfd"` of a sweep file, `retort_trials` a metric.
`--results DIR` is an option, `%s` a variable, `retort status --json` a command.

## A part of it
```sh
retort plan sweep.toml trial.steps=5 | head -1
bash cluster/more.sh --tests
```
```toml
[data.birds]
reader = "pictures"
```
```text
anything/at all
```
<!-- sh needs=long
retort plan sweep.toml   # not: retort run sweep.toml
retort chaos sweep.toml
-->
""" % VARIABLE

TREE = {
    "README.md": GOOD,
    "storage/log.h": "constexpr int kMaxBytes = 1;\nint Open();\n",
    "storage/log.cc": f'const char* name = "{VARIABLE}";\n',
    "cluster/more.sh": "# --tests\n",
    "digits/t10k-images-idx3-ubyte": "",
    "sweep.toml": """retort = 1
[data.digits]
reader = "idx"
path = "digits"
split = { train = [0, 8], test = [8, 16] }
[trial]
data = "digits"
method = "dpsgd"
student = "logistic"
batch = 4
noise_multiplier = 1
[sweep]
name = "s"
grid.lr = [0.1, 0.2]
""",
}

# What is added to the page, and what is said of it.
PLANTED = {
    "path": ("`storage/absent.h`", "storage/absent.h does not exist"),
    "path of a list": ("`storage/{log.h,gone.h}`", "storage/gone.h does not exist"),
    "path of a block": ("```sh\ncat storage/absent.txt\n```", "storage/absent.txt does not exist"),
    "link": ("[x](storage/absent.h)", "link to storage/absent.h, which does not exist"),
    "figure": ('<img src="storage/absent.svg" alt="x">', "figure storage/absent.svg does not exist"),
    "figure in the dark": ('<source media="x" srcset="absent-dark.svg">', "figure absent-dark.svg does not exist"),
    "heading": ("[x](#no-such-part)", "which has no such heading"),
    "command": ("`retort frobnicate`", "retort has no command frobnicate"),
    "flag": ("`retort status --frobnicate`", "retort status has no --frobnicate"),
    "flag of a subcommand": ("`retort data check idx digits --clients 3`", "retort data check has no --clients"),
    "flag on a continued line": ("```sh\nretort status \\\n  --frobnicate\n```", "retort status has no --frobnicate"),
    "flag of a hidden block": ("<!-- sh\nretort status --frobnicate\n-->", "retort status has no --frobnicate"),
    "flag of a script": ("`bash cluster/more.sh --fewer`", "cluster/more.sh has no --fewer"),
    "flag by itself": ("`--frobnicate`", "no program has --frobnicate"),
    "override of no key": ("`retort plan sweep.toml trial.stepps=5`", "trial.stepps"),
    "override of an axis": ("`retort run sweep.toml trial.lr=1`", "it varies on the axis"),
    "profile": ("`retort run sweep.toml --profile absent`", "unknown profile"),
    "metric": ("`retort_frobnications_total`", "there is no metric retort_frobnications_total"),
    "variable": ("`RETORT_FROB`", "nothing knows RETORT_FROB"),
    "key": ("`trial.stepps`", "there is no key trial.stepps"),
    "key of a table": ("`table.mine.rowz`", "there is no key table.mine.rowz"),
    "key with a value": ('`stepps = 3`', "there is no key stepps"),
    "key of a block": ("```toml\n[data.birds]\nreaderr = 'pictures'\n```", "there is no key"),
    "TOML": ("```toml\n[data\n```", "is no TOML"),
    "function": ("`Shut()`", "no source has Shut()"),
    "constant": ("`kMinBytes`", "no source has kMinBytes"),
    "language": ("```\nls\n```", "a block of no language"),
    "command of long blocks alone": ("```sh needs=long\nretort table sweep.toml\n```", "retort table is run by blocks alone that take"),
    "need": ("```sh needs=gold\nls\n```", "nothing is known of needs=gold"),
    "word after sh": ("```sh slowly\nls\n```", "'slowly' after sh means nothing"),
    "shell": ("```sh\nif true\n```", "is no shell"),
}


@contextlib.contextmanager
def scratch(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as stream:
                stream.write(text)
        yield root


def check_tree(files):
    with scratch(files) as root:
        return check_docs.find_violations(root, PROGRAM)


class PagesThatAreUntrueAreFound(unittest.TestCase):
    def test_a_page_without_a_fault_passes(self):
        self.assertEqual(check_tree(TREE), [])

    def test_each_planted_fault_is_reported_alone(self):
        line = len(GOOD.splitlines()) + 1
        for kind, (text, expected) in PLANTED.items():
            with self.subTest(kind):
                found = check_tree({**TREE, "README.md": f"{GOOD}{text}\n"})
                self.assertEqual(len(found), 1, found)
                self.assertIn(expected, found[0])
                self.assertIn(int(found[0].split(":")[1]), range(line, line + 3))

    def test_room_pages_are_checked_the_changelog_is_not(self):
        fault = "`storage/absent.h`\n"
        self.assertIn("storage/PAGE.md:1:", "".join(check_tree({**TREE, "storage/PAGE.md": fault})))
        self.assertEqual(check_tree({**TREE, "CHANGELOG.md": fault}), [])

    def test_figures_of_papers_pages_stand_elsewhere(self):
        published = "epsilon,metric,value\n7.5,accuracy,0.9512\n,parameters,4.97K\n"
        tree = {**TREE, "experiments/RESULTS.md": "93.4 ± 0.5 %\n", "experiments/reference/published.csv": published}
        page = "93.4 ± 0.5 and 95.12 % of 4.97K at 7.5, section 3.9, ε = 0.046\n```text\n1.23\n```\n"
        self.assertEqual(check_tree({**tree, "experiments/papers/one.md": page}), [])
        found = check_tree({**tree, "experiments/papers/one.md": page + "93.5 %\n"})
        self.assertEqual([line.split(" stands")[0] for line in found], ["experiments/papers/one.md:5: 93.5"])

    def test_the_exit_code_says_whether_there_was_a_fault(self):
        for added, code in (("", 0), ("`storage/absent.h`\n", 1)):
            with scratch({**TREE, "README.md": GOOD + added}) as root:
                run = subprocess.run([sys.executable, check_docs.__file__, "--root", root, "--retort", PATH],
                                     capture_output=True, text=True)
            self.assertEqual(run.returncode, code, run.stdout + run.stderr)


if __name__ == "__main__":
    PATH = sys.argv.pop()
    if sys.argv.pop() != "--retort":
        sys.exit(__doc__)
    PROGRAM = check_docs.Program(PATH)
    unittest.main()
