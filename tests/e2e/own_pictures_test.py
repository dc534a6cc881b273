#!/usr/bin/env python3
"""Pictures as people keep them: empty class folders, folders beside the parts, thumbnails of network storage, kinds of files
that are not read, lists from Windows, files exchanged in place. What is counted, told of and measured, by the programs."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import zipfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import all_tests_pass, parse_options

SOURCE = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SWEEP = """
retort = 1
[data.own]
reader = "pictures"
path = "{path}"
size = [32, 32]
split = {split}
[teacher]
dogs = {{ network = "logistic", weights = "dogs.safetensors" }}
[trial]
method = "dense"
teacher = "dogs"
student = "logistic"
threads = 1
steps = 1
generator_width = 4
latent = 4
replay = 1
batch = 4
student_batch = 4
"""


def read(path):
    with open(path, "rb") as file:
        return file.read()


def jpegs():
    folder = os.path.join(SOURCE, "tests", "fixtures", "folders")
    found = []
    for root, _, names in sorted(os.walk(folder)):
        found += [os.path.join(root, name) for name in sorted(names) if name.endswith(".jpg")]
    return [read(path) for path in found]


def wide_grey(bright):
    """A PNG of 16-bit grey, 10 x 10, that many of its pixels above 255."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + b"".join(struct.pack(">H", 300 if 10 * y + x < bright else 7) for x in range(10)) for y in range(10))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 10, 10, 16, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class OwnPictures(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.environment = dict(os.environ, XDG_CACHE_HOME=self.path("cache"))
        self.jpegs = jpegs()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def add(self, *names, holding=None):
        for number, name in enumerate(names):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "wb") as file:
                file.write(holding if holding is not None else self.jpegs[number % len(self.jpegs)])

    def retort(self, *words):
        return subprocess.run([OPTIONS.retort, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True)

    def check(self, name):
        ran = self.retort("data", "check", "pictures", name, "--json")
        self.assertEqual(ran.returncode, 0, ran.stderr + ran.stdout)
        return json.loads(ran.stdout)

    def packed(self):
        """The folder "set", and archives of it."""
        with tarfile.open(self.path("set.tar"), "w") as archive:
            archive.add(self.path("set"), "set")
        shutil.make_archive(self.path("set"), "zip", self.folder, "set")
        return "set", "set.tar", "set.zip"

    def always_dog(self, names=None):
        """Weights of three classes that say the last, whatever they see."""
        tensors = {"fc.weight": ([3, 3072], bytes(4 * 3 * 3072)), "fc.bias": ([3], struct.pack("<3f", 0, 0, 9))}
        header, at = {}, 0
        if names is not None:
            header["__metadata__"] = {"classes": json.dumps(names)}
        for name, (shape, data) in tensors.items():
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(data)]}
            at += len(data)
        text = json.dumps(header).encode()
        with open(self.path("dogs.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, data in tensors.values()))

    def sweep(self, path, split='{ train = "train", test = "test" }'):
        with open(self.path("s.toml"), "w") as file:
            file.write(SWEEP.format(path=path, split=split))
        return self.path("s.toml")

    def test_a_class_without_pictures_keeps_its_number(self):
        self.add("set/ant/0.jpg", "set/dog/0.jpg", "set/dog/1.jpg")
        os.mkdir(self.path("set", "cat"))
        for name in self.packed():
            with self.subTest(name):
                report = self.check(name)
                self.assertEqual([(one["name"], one["count"]) for one in report["classes"]], [("ant", 1), ("cat", 0), ("dog", 2)])
                self.assertIn("1 of 3 classes hold no picture that is read: cat (number 1)", " ".join(report["warnings"]))

    def test_an_archive_without_folders_keeps_hidden_files(self):
        self.add("set/ant/0.jpg", "set/dog/0.jpg")
        with zipfile.ZipFile(self.path("set.zip"), "w") as archive:
            archive.write(self.path("set/ant/0.jpg"), "set/ant/0.jpg")
            archive.writestr("set/cat/.gitkeep", "")
            archive.writestr("set/eel/@eaDir/0.jpg/x.jpg", "")
            archive.write(self.path("set/dog/0.jpg"), "set/dog/0.jpg")
        self.assertEqual([one["name"] for one in self.check("set.zip")["classes"]], ["ant", "cat", "dog", "eel"])

    def test_classes_that_training_lacks_are_told_of(self):
        self.add("set/train/ant/0.jpg", "set/train/dog/0.jpg", "set/test/ant/1.jpg", "set/test/cat/1.jpg", "set/test/dog/1.jpg")
        report = self.check("set")
        self.assertEqual([one["name"] for one in report["classes"]], ["ant", "cat", "dog"])
        self.assertIn('Part "train" has no folder of 1 of 3 classes (cat)', " ".join(report["warnings"]))
        self.add("set/class-index.csv", holding=b"0,ant\n1,dog\n2,cat\n")
        self.assertEqual(self.check("set")["warnings"], [])
        os.remove(self.path("set/class-index.csv"))
        os.mkdir(self.path("set/train/cat"))
        self.assertEqual(self.check("set")["warnings"], [])

    def test_a_teacher_is_measured_by_all_folders(self):
        self.add("set/train/ant/0.jpg", "set/train/dog/0.jpg", "set/test/dog/1.jpg", "set/test/dog/2.jpg")
        self.add("set/train/cat/0.webp", holding=b"RIFF")
        self.always_dog()
        ran = self.retort("run", self.sweep("set"), "--results", "results")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("cat (number 1)", ran.stderr)
        table = json.loads(self.retort("list", "--json", "--results", "results").stdout)
        teacher = [one for one in table["trials"] if one["name"].startswith("teacher")]
        self.assertEqual([one["metrics"]["test.accuracy"] for one in teacher], [1])

    def test_a_teacher_with_other_class_names_is_an_error(self):
        self.add("set/train/ant/0.jpg", "set/train/cat/0.jpg", "set/train/dog/0.jpg", "set/test/dog/1.jpg")
        self.always_dog(["ant", "dog", "cat"])
        ran = self.retort("plan", self.sweep("set"))
        self.assertEqual(ran.returncode, 2, ran.stdout)
        self.assertIn('class "cat" is number 1 in the data and number 2 in the weights', ran.stderr)
        self.always_dog(["ant", "cat", "dog"])
        self.assertEqual(self.retort("plan", self.sweep("set")).returncode, 0)

    def test_more_classes_than_the_set_names_are_told_of(self):
        self.add("set/train/ant/0.jpg", "set/train/dog/0.jpg", "set/test/dog/1.jpg")
        self.always_dog()
        ran = self.retort("plan", self.sweep("set"), "data.own.classes=3")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("classes = 3, and the set has 2 (ant, dog)", ran.stderr)

    def test_what_is_not_read_is_counted_by_kind(self):
        self.add("set/cat/0.jpg", "set/dog/0.jpg", "set/dog/1.jfif")
        self.add("set/cat/1.webp", "set/cat/2.WebP", "set/dog/3.bmp", "set/dog/4.tiff", "set/dog/5.gif", holding=b"x")
        for name in self.packed():
            with self.subTest(name):
                report = self.check(name)
                self.assertEqual(report["examples"], 3)
                self.assertIn("5 pictures are of kinds that are not read (2 .webp, 1 .bmp, 1 .gif, 1 .tiff)", " ".join(report["warnings"]))
        self.add("webp/cat/1.webp", holding=b"x")
        self.assertIn("1 .webp", self.retort("data", "check", "pictures", "webp").stderr)

    def test_clipped_grey_is_told_of(self):
        self.add("set/ant/0.jpg", "set/bee/0.jpg", "set/cat/0.jpg")
        self.add("set/dog/0.png", holding=wide_grey(30))
        self.assertIn("1 pictures of 16-bit grey", " ".join(self.check("set")["warnings"]))
        self.always_dog()
        ran = self.retort("plan", self.sweep("set", "{ shuffle = 1, train = 0.5, test = 0.5 }"))
        self.assertIn("dog/0.png is of 16-bit grey, and 30 % of its pixels lie above 255", ran.stderr)
        self.add("set/dog/0.png", holding=wide_grey(1))
        self.assertEqual(self.check("set")["warnings"], [])

    def test_what_lies_beside_the_parts_is_no_class(self):
        self.add(*("set/%s/%s/0.jpg" % (part, name) for part in ("Training", "Testing", "valid") for name in ("cat", "dog")),
                 "set/pred/a.jpg", "set/docs/b.jpg", "set/unlabeled/c.jpg")
        for name in self.packed():
            with self.subTest(name):
                report = self.check(name)
                self.assertEqual([one["name"] for one in report["classes"]], ["cat", "dog"])
                self.assertEqual([one["name"] for one in report["parts"]], ["train", "validation", "test"])
                self.assertIn("lie docs (1 pictures), pred (1 pictures), unlabeled (1 pictures)", " ".join(report["warnings"]))

    def test_what_storage_keeps_is_not_seen(self):
        self.add("set/cat/0.jpg", "set/dog/0.jpg", "set/cat/@eaDir/0.jpg/SYNOPHOTO_THUMB_M.jpg", "set/@eaDir/0.jpg/x.jpg",
                 "set/dog/.thumbnails/0.png")
        self.add("set/dog/Thumbs.db", "set/desktop.ini", holding=b"x")
        for name in self.packed():
            with self.subTest(name):
                report = self.check(name)
                self.assertEqual([(one["name"], one["count"]) for one in report["classes"]], [("cat", 1), ("dog", 1)])
                self.assertEqual(report["warnings"] + report["findings"], [])

    def exchange(self, one, other):
        """Of two files of one size: in place, with their times kept."""
        kept = [os.stat(self.path(name)) for name in (one, other)]
        held = [read(self.path(name)) for name in (one, other)]
        for name, times, data in zip((one, other), kept, reversed(held)):
            with open(self.path(name), "r+b") as file:
                file.write(data)
            os.utime(self.path(name), ns=(times.st_atime_ns, times.st_mtime_ns))

    def test_files_exchanged_in_place_are_noticed(self):
        data = self.jpegs[0]
        self.add("set/train/cat/0.jpg", "set/train/dog/1.jpg", "set/test/cat/2.jpg")
        self.add("set/train/cat/0.jpg", holding=data)
        self.add("set/train/dog/1.jpg", holding=data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
        self.always_dog()
        time.sleep(0.05)  # beyond a tick of the file system's clock
        digest = self.check("set")["digest"]
        plan = json.loads(self.retort("plan", self.sweep("set"), "--json").stdout)
        self.exchange("set/train/cat/0.jpg", "set/train/dog/1.jpg")
        again = json.loads(self.retort("plan", self.sweep("set"), "--json").stdout)
        self.assertNotEqual([one["trial"] for one in plan["trials"]], [one["trial"] for one in again["trials"]])
        self.assertNotEqual(self.check("set")["digest"], digest)

    def test_lists_from_windows_say_the_same(self):
        self.add("set/ant/0.jpg", "set/ant/1.jpg", "set/dog/0.jpg", "set/dog/1.jpg")
        self.add("train.txt", holding="\ufeffant/0.jpg\r\ndog/0.jpg\r\n".encode())
        self.add("test.txt", holding="\ufeff1\r\n3\r\n".encode())
        self.add("set/class-index.csv", holding="\ufeff1,ant\r\n0,dog\r\n".encode())
        self.assertEqual([one["name"] for one in self.check("set")["classes"]], ["dog", "ant"])
        self.always_dog()
        ran = self.retort("plan", self.sweep("set", '{ train = "train.txt", test = "test.txt" }'))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("private 2, public 0, test 2", ran.stdout.replace("  ", " "))

    def test_a_list_that_is_missing_is_told_at_its_split(self):
        self.add("set/ant/0.jpg", "set/dog/0.jpg")
        self.add("train.txt", holding=b"0\n")
        self.always_dog()
        ran = self.retort("plan", self.sweep("set", '{ train = "train.txt", test = "nowhere.txt" }'))
        self.assertEqual(ran.returncode, 2, ran.stdout)
        self.assertRegex(ran.stderr, r"s\.toml:7:\d+: data\.own\.split\.test: the list '.*nowhere\.txt' is not there")


if __name__ == "__main__":
    OPTIONS = parse_options("retort")
    OPTIONS.retort = os.path.abspath(OPTIONS.retort)
    sys.exit(0 if all_tests_pass() else 1)
