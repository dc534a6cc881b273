#!/usr/bin/env python3
"""Bundles: what is in one, who reads it, and that `retort verify` sees every change.

usage: bundle_test.py --retort PROGRAM --source DIR
"""
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import SMALL_DIGITS, parse_options, run_tests  # noqa: E402

OPTIONS = None
FOLDER = None
SWEEP = "experiments/configs/dpsd/fig9.toml"
DERIVED = ["sweep.toml", "archive.rows", "claims.json", "ledger.json", "environment.txt"]


def retort(*words, **variables):
    return subprocess.run([OPTIONS.retort, *words], cwd=FOLDER, capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "XDG_CACHE_HOME": os.path.join(FOLDER, "cache"), "OMP_NUM_THREADS": "1",
                               "TMPDIR": os.path.join(FOLDER, "tmp"), **variables})


def sweep(command, *words):
    return retort(command, os.path.join(OPTIONS.source, SWEEP), "--profile", "smoke", *words)


def read(name):
    with open(os.path.join(FOLDER, name), "rb") as file:
        return file.read()


def unpack(name="fig9.tar"):
    with tarfile.open(os.path.join(FOLDER, name)) as tar:
        return [(member.name, tar.extractfile(member).read()) for member in tar.getmembers()]


def pack(name, members):
    """As the program packs: ustar, no owner, no time, two empty blocks at the end."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for member, contents in members:
            header = tarfile.TarInfo(member)
            header.size = len(contents)
            tar.addfile(header, io.BytesIO(contents))
    length = sum(512 + -(-len(contents) // 512) * 512 for _, contents in members)
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(out.getvalue()[:length + 1024])


def resum(members):
    """The members, with the check-sums that fit them."""
    members = [one for one in members if one[0] != "SHA256SUMS"]
    sums = "".join(f"{hashlib.sha256(contents).hexdigest()}  {name}\n" for name, contents in members)
    return members + [("SHA256SUMS", sums.encode())]


def relist(members):
    """The members, with a bundle.json that lists them."""
    head = json.loads(members[0][1])
    head["members"] = [name for name, _ in members[1:] if name != "SHA256SUMS"]
    return [("bundle.json", (json.dumps(head, separators=(",", ":")) + "\n").encode())] + members[1:]


class BundleTest(unittest.TestCase):
    def refused(self, name, *words, code=1):
        done = retort("verify", name)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        for word in words:
            self.assertIn(word, done.stderr)

    def changed(self, name, change, again=lambda members: members):
        pack(name, again([(member, change(contents) if member == name.split("+")[0] else contents)
                          for member, contents in unpack()]))

    def test_MembersAndSumsAreThoseOfOtherTools(self):
        names = [name for name, _ in unpack()]
        self.assertEqual(names, ["bundle.json"] + DERIVED + ["SHA256SUMS"])
        os.makedirs(os.path.join(FOLDER, "unpacked"))
        subprocess.run(["tar", "xf", os.path.join(FOLDER, "fig9.tar"), "-C", os.path.join(FOLDER, "unpacked")], check=True)
        checked = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], check=False, capture_output=True,
                                 cwd=os.path.join(FOLDER, "unpacked"))
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_EqualRowsGiveEqualBytes(self):
        self.assertEqual(sweep("bundle", "--results", "fig9", "--out", "again.tar").returncode, 0)
        self.assertEqual(read("again.tar"), read("fig9.tar"))
        pack("repacked.tar", unpack())
        self.assertEqual(read("repacked.tar"), read("fig9.tar"))

    def test_VerifySaysWhatItChecked(self):
        done = retort("verify", "fig9.tar")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(retort("verify", "fig9.tar", "--json").stdout)
        self.assertTrue(told["ok"])
        self.assertEqual(told["checked"]["members"], 6)
        self.assertGreater(told["checked"]["claims"], 0)
        self.assertGreater(told["checked"]["ledger_entries"], 0)
        self.assertEqual(told["sha256"], hashlib.sha256(read("fig9.tar")).hexdigest())
        for figure in (told["sha256"], str(told["checked"]["claims"])):
            self.assertIn(figure, " ".join(done.stdout.split()))

    def test_TablesAreThoseOfTheFolder(self):
        for command in ("table", "compare"):
            here, there = sweep(command, "--results", "fig9"), sweep(command, "--from", "fig9.tar")
            self.assertEqual((there.returncode, there.stdout), (here.returncode, here.stdout), there.stderr)
        self.assertEqual(retort("import", "fig9.tar", "--results", "imported").returncode, 0)
        self.assertEqual(retort("verify", "--results", "imported").returncode, 0)

    def test_AnEditedMemberIsNamed(self):
        for name in DERIVED + ["bundle.json", "SHA256SUMS"]:
            self.changed(name + "+", lambda text: text[:60] + bytes([text[60] ^ 1]) + text[61:])
            done = retort("verify", name + "+")
            self.assertEqual(done.returncode, 1, name)
            self.assertRegex(done.stderr, "SHA256SUMS|bundle.json" if name in ("SHA256SUMS", "bundle.json") else name)

    def test_AnEditUnderNewSumsIsSeenByTheRows(self):
        self.changed("claims.json+summed", lambda text: text.replace(b'"inf"', b'0.1', 1), resum)
        self.refused("claims.json+summed", "claims.json", "is not what follows from archive.rows")
        self.changed("ledger.json+summed", lambda text: text.replace(b'"attempt": 1', b'"attempt": 2', 1), resum)
        self.refused("ledger.json+summed", "ledger.json", "is not what follows from archive.rows")
        self.changed("archive.rows+summed", lambda text: text.replace(b"fig9", b"fig8"), resum)
        self.refused("archive.rows+summed", "archive.rows", "its seal is not that of its lines")

    def test_ACutBundleIsNamed(self):
        whole = read("fig9.tar")
        for length, words in ((600, "bundle.json"), (5000, "cut"), (len(whole) - 1024, "end"), (len(whole) - 1, "end")):
            with open(os.path.join(FOLDER, "cut.tar"), "wb") as file:
                file.write(whole[:length])
            self.refused("cut.tar", words)

    def test_AMemberTooManyIsNamed(self):
        extra = ("extra.txt", b"words")
        pack("extended.tar", unpack() + [extra])
        self.refused("extended.tar", "extra.txt: was added after the last member")
        pack("inserted.tar", unpack()[:2] + [extra] + unpack()[2:])
        self.refused("inserted.tar", "extra.txt: stands where archive.rows belongs")
        pack("listed.tar", resum(relist(unpack()[:2] + [extra] + unpack()[2:])))
        self.refused("listed.tar", "extra.txt: belongs to no row")
        with open(os.path.join(FOLDER, "longer.tar"), "wb") as file:
            file.write(read("fig9.tar") + b"\0" * 512)
        self.refused("longer.tar", "bytes were added")

    def test_AMovedOrMissingMemberIsNamed(self):
        members = unpack()
        pack("moved.tar", members[:2] + [members[3], members[2]] + members[4:])
        self.refused("moved.tar", "claims.json: stands where archive.rows belongs")
        pack("missing.tar", members[:3] + members[4:])
        self.refused("missing.tar", "ledger.json: stands where claims.json belongs")
        pack("unlisted.tar", resum(relist(members[:3] + members[4:])))
        self.refused("unlisted.tar", "claims.json: is not among its members")

    def test_AHeaderIsCheckedToo(self):
        whole = bytearray(read("fig9.tar"))
        whole[512 * 2 + 136] = ord("7")  # the time of sweep.toml
        with open(os.path.join(FOLDER, "touched.tar"), "wb") as file:
            file.write(whole)
        self.refused("touched.tar", "sweep.toml", "header")

    def test_ANewerVersionIsRefusedWithItsReason(self):
        newer = {"bundle": 2, "written_by": "9.9.9", "members": {"of another": "form"}}
        pack("newer.tar", [("bundle.json", json.dumps(newer, separators=(",", ":")).encode())] + unpack()[1:])
        self.refused("newer.tar", "version 2", "9.9.9", "use the retort that wrote it", code=2)

    def test_OtherFilesAreNoBundles(self):
        pack("other.tar", [("a.txt", b"a")])
        self.refused("other.tar", "is no bundle", code=2)
        self.assertIn("no results folder", retort("bundle", "tmp", "--out", "none.tar").stderr)
        self.assertNotEqual(retort("bundle", "fig9", "--out", "fig9.rows.txt").returncode, 0)

    def test_NothingIsLeftInTheTemporaryFolder(self):
        os.makedirs(os.path.join(FOLDER, "own"))
        self.assertEqual(retort("verify", "fig9.tar", TMPDIR=os.path.join(FOLDER, "own")).returncode, 0)
        self.assertEqual(os.listdir(os.path.join(FOLDER, "own")), [])

    def test_StudentsAreTheExportedOnes(self):
        done = retort("bundle", "fig9", "--students", "--out", "students.tar")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(retort("verify", "students.tar").returncode, 0)
        students = [one for one in unpack("students.tar") if one[0].startswith("students/")]
        self.assertTrue(students)
        name, contents = students[0]
        trial = name[len("students/"):-len(".safetensors")]
        exported = retort("export", trial, "student", "--format", "safetensors", "--out", "one.st", "--results", "fig9")
        self.assertEqual(exported.returncode, 0, exported.stderr)
        self.assertEqual(read("one.st"), contents)

    def test_FiguresAndReportsAreThoseOfTheFolder(self):
        for out, place in (("here", ("--results", "fig9")), ("there", ("--from", "fig9.tar"))):
            done = sweep("plot", "--out", out, *place)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.listdir(os.path.join(FOLDER, "there")), os.listdir(os.path.join(FOLDER, "here")))
        for name in os.listdir(os.path.join(FOLDER, "here")):
            self.assertEqual(read(os.path.join("there", name)), read(os.path.join("here", name)), name)
        done = retort("report", "--from", "fig9.tar", "--out", "there.html", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual((told["trials"], told["unreadable"]), (told["detailed"], []))
        self.assertEqual(told["results"], "fig9.tar")
        page = read("there.html").decode()
        self.assertNotIn("retort-rows-", page)
        self.assertIn("retort import fig9.tar --results results/dpsd-fig9-smoke\n", page)
        self.assertIn("retort verify --results results/dpsd-fig9-smoke", page)
        self.assertIn("name a place with --out", retort("report", "--from", "fig9.tar").stderr)

    def test_AReportNamesNoFolderThatIsGone(self):
        self.assertEqual(retort("report", "--from", "fig9.tar", "--out", "plain.html").returncode, 0)
        plain = re.sub(r"<time .*?</time>", "", read("plain.html").decode())
        for name in ("a & b", "it's <b>", "quo\"te", "ü`x`"):
            folder = os.path.join(FOLDER, "odd", name)
            os.makedirs(folder)
            done = retort("report", "--from", "fig9.tar", "--out", "plain.html", TMPDIR=folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            page = re.sub(r"<time .*?</time>", "", read("plain.html").decode())
            self.assertNotIn("retort-rows-", page, name)
            self.assertEqual(page, plain, name)

    def test_PicturesAreNotSoughtInABundle(self):
        figures = os.path.join(OPTIONS.source, "experiments/configs/dpsd/fig3.toml")
        self.assertEqual(retort("run", figures, "--profile", "smoke", "--results", "fig3", "--quiet").returncode, 0)
        self.assertEqual(retort("bundle", "fig3", "--out", "fig3.tar").returncode, 0)
        done = retort("plot", figures, "--profile", "smoke", "--from", "fig3.tar", "--out", "pictures")
        self.assertEqual(done.returncode, 1)
        self.assertIn("fig3.tar holds rows, and rows keep no pictures", " ".join(done.stderr.split()))
        self.assertNotIn("retort-rows-", done.stderr)

    def test_LongNamesOfTrialsAreCutBeforeTheId(self):
        names = ["digits" + "-of-somebody" * 12, "ü" * 60]
        for number, name in enumerate(names):
            text = SMALL_DIGITS.format(source=OPTIONS.source).replace("data.digits", f'data."{name}"')
            text = text.replace('data = "digits"', f'data = "{name}"')
            with open(os.path.join(FOLDER, f"long{number}.toml"), "w", encoding="utf-8") as file:
                file.write(text + f'method = "dpsgd"\nsteps = 1\n[sweep]\nname = "long{number}"\nseeds = [0, 1]\n')
            results, bundle = f"long{number}", f"long{number}.tar"
            done = retort("run", f"long{number}.toml", "--results", results, "--quiet")
            self.assertEqual(done.returncode, 0, done.stderr)
            done = retort("bundle", results, "--students", "--out", bundle)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(retort("verify", bundle).returncode, 0)
            students = [one for one, _ in unpack(bundle) if one.startswith("students/")]
            trials = [one["name"] for one in json.loads(retort("list", "--results", results, "--json").stdout)["trials"]]
            self.assertTrue(all(len(one.encode()) > 79 for one in trials))
            self.assertEqual([one[-len("-0123abcd.safetensors"):] for one in students],
                             [one[-len("-0123abcd"):] + ".safetensors" for one in trials])
            for member, trial in zip(students, trials):
                self.assertLessEqual(len(member.encode()), 100)
                self.assertTrue(trial.startswith(member[len("students/"):-len("-0123abcd.safetensors")]))


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    OPTIONS.retort, OPTIONS.source = os.path.abspath(OPTIONS.retort), os.path.abspath(OPTIONS.source)
    FOLDER = tempfile.mkdtemp(prefix="retort-bundle-")
    os.makedirs(os.path.join(FOLDER, "tmp"))
    with open(os.path.join(FOLDER, "fig9.rows.txt"), "w", encoding="utf-8") as words:
        words.write("somebody's\n")
    RAN = sweep("run", "--results", "fig9", "--slots", "2", "--quiet")
    assert RAN.returncode == 0, RAN.stderr
    MADE = retort("bundle", "fig9", "--out", "fig9.tar")
    assert MADE.returncode == 0, MADE.stderr
    sys.exit(run_tests(FOLDER, at_once=2))
