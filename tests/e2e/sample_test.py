"""`retort sample`: pictures of a trial's generator in every format, read back by this script and by retort; the first of 2 N
are the N; who may label; what is refused before anything is written; nothing but a whole folder appears, whatever ends it.

usage: sample_test.py --retort PROGRAM --source DIR
"""
import hashlib
import json
import os
import shutil
import signal
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
import exported_facts  # noqa: E402
from sweep_run import parse_options, run_tests  # noqa: E402

OPTIONS = None
FOLDER = None
DATA = """
retort = 1
[data.digits]
reader = "idx"
path = "{source}/experiments/data/mnist10k"
split = {{ shuffle = 1, train = [0, 512], public = [512, 640], test = [640, 896] }}
"""
SWEEP = DATA + """
[teacher]
raw = {{ network = "logistic", epochs = 2 }}
private = {{ network = "logistic", steps = 8, batch = 128, lr = 1, private = {{ epsilon = 5, norm_bound = 1 }} }}
[trial]
data = "digits"
student = "logistic"
threads = 1
delta = 1e-4
steps = 3
batch = 16
student_batch = 16
student_steps = 2
generator_width = 8
latent = 8
[sweep]
name = "samples"
seeds = [0]
zip.row = [
  {{ method = "dpdfd", reading = "working", teacher = "raw" }},
  {{ method = "dpdfd", reading = "sound", teacher = "private" }},
  {{ method = "dp-dfd", reading = "working", teacher = "raw", epsilon0 = 1, bn_statistics = 0 }},
  {{ method = "dpsgd", noise_multiplier = 1, norm_bound = 0.1, lr = 1 }},
]
[table.learnt]
rows = ["method", "reading"]
columns = ["data"]
metric = "synthetic.accuracy"
[table.far]
rows = ["method", "reading"]
columns = ["data"]
metric = "synthetic.fid"
"""
# A sweep whose data are pictures that `retort sample` wrote.
READER = """
retort = 1
[data.made]
reader = "{reader}"
path = "{path}"
{keys}
split = {{ shuffle = 1, train = [0, 120], test = [120, 150] }}
[trial]
data = "made"
method = "dpsgd"
student = "logistic"
threads = 1
delta = 1e-4
noise_multiplier = 1
batch = 32
norm_bound = 0.1
lr = 1
steps = 2
[sweep]
name = "made"
seeds = [0]
"""


def path(*words):
    return os.path.join(FOLDER, *words)


def read(name):
    with open(name, "rb") as file:
        return file.read()


def start(*words, **more):
    return subprocess.Popen([OPTIONS.retort, *words], cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            stdin=subprocess.DEVNULL, env={**os.environ, "XDG_CACHE_HOME": path("cache")}, **more)


def retort(*words, **more):
    process = start(*words, **more)
    out, err = process.communicate(timeout=200)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def sample(trial, out, *words, count=150, form="idx", **more):
    return retort("sample", trial, "--results", "results/samples", "--count", str(count), "--format", form, "--out", out,
                  *words, **more)


def unsigned_bytes(data, extents):
    """The extents and contents of an IDX file of unsigned bytes."""
    head = struct.unpack(">HBB" + "I" * extents, data[:4 + 4 * extents])
    assert head[:3] == (0, 8, extents), head
    return head[3:], data[4 + 4 * extents:]


def grey(png):
    """Width, height and pixels of a PNG of 8-bit grey without interlace."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, body, size = 8, b"", None
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        chunk = png[at + 8:at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + chunk)
        if kind == b"IHDR":
            size = struct.unpack(">IIBBBBB", chunk)
            assert size[2:] == (8, 0, 0, 0, 0), size
        body += chunk if kind == b"IDAT" else b""
        at += 12 + length
    lines, rows, width = zlib.decompress(body), [], size[0]
    above = bytes(width)
    for y in range(size[1]):
        line = bytearray(lines[y * (width + 1) + 1:(y + 1) * (width + 1)])
        form = lines[y * (width + 1)]
        for x in range(width):
            left, up, corner = line[x - 1] if x else 0, above[x], above[x - 1] if x else 0
            near = left + up - corner
            paeth = min((left, up, corner), key=lambda value: abs(near - value))
            line[x] = (line[x] + (0, left, up, (left + up) // 2, paeth)[form]) & 255
        above = bytes(line)
        rows.append(above)
    return width, size[1], b"".join(rows)


def array(npy):
    """Type, shape and bytes of a .npy."""
    assert npy[:8] == b"\x93NUMPY\x01\x00"
    length = struct.unpack("<H", npy[8:10])[0]
    head = eval(npy[10:10 + length].decode("latin-1"), {"__builtins__": {}})
    assert head["fortran_order"] is False
    return head["descr"], head["shape"], npy[10 + length:]


def digest(pictures, labels):
    """As sample.json has it."""
    hash_ = hashlib.sha256()
    for picture, label in zip(pictures, labels):
        hash_.update(picture + struct.pack("<q", label))
    return hash_.hexdigest()


def read_idx(folder):
    shape, pixels = unsigned_bytes(read(os.path.join(folder, "train-images-idx3-ubyte")), 3)
    count, labels = unsigned_bytes(read(os.path.join(folder, "train-labels-idx1-ubyte")), 1)
    assert shape == (*count, 28, 28), shape
    assert (len(pixels), len(labels)) == (shape[0] * 784, shape[0])
    none, no_pixels = unsigned_bytes(read(os.path.join(folder, "t10k-images-idx3-ubyte")), 3)   # torchvision wants them
    assert (none, no_pixels) == ((0, 28, 28), b"")
    assert unsigned_bytes(read(os.path.join(folder, "t10k-labels-idx1-ubyte")), 1) == ((0,), b"")
    return [pixels[i:i + 784] for i in range(0, len(pixels), 784)], list(labels)


def read_npz(folder):
    with zipfile.ZipFile(os.path.join(folder, "samples.npz")) as archive:
        assert archive.testzip() is None
        kind, shape, pixels = array(archive.read("images.npy"))
        label_kind, count, labels = array(archive.read("labels.npy"))
    assert (kind, shape, label_kind) == ("|u1", (*count, 1, 28, 28), "<i8")
    return ([pixels[i:i + 784] for i in range(0, len(pixels), 784)],
            [value for value, in struct.iter_unpack("<q", labels)])


def read_png(folder):
    found = {}
    for name in os.listdir(folder):
        if name == "sample.json":
            continue
        for file in os.listdir(os.path.join(folder, name)):
            width, height, pixels = grey(read(os.path.join(folder, name, file)))
            assert (width, height) == (28, 28)
            found[int(file.removesuffix(".png"))] = pixels, int(name)
    assert sorted(found) == list(range(len(found)))
    return [found[i][0] for i in sorted(found)], [found[i][1] for i in sorted(found)]


def read_webdataset(folder):
    pictures, labels = [], []
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".tar")):
        with tarfile.open(os.path.join(folder, name), "r:") as archive:
            members = archive.getmembers()
            for picture, label in zip(members[::2], members[1::2]):   # of one stem, one behind the other
                assert picture.isreg() and label.isreg()
                assert (picture.name, label.name) == (f"{len(labels):08}.png", f"{len(labels):08}.cls")
                pictures.append(grey(archive.extractfile(picture).read())[2])
                labels.append(int(archive.extractfile(label).read()))
    return pictures, labels


READERS = {"idx": read_idx, "npz": read_npz, "png": read_png, "webdataset": read_webdataset}
# Shown names of the trials, once they have run.
WORKING = SOUND = LABELS = PLAIN = TEACHER = None


def setUpModule():
    with open(path("s.toml"), "w", encoding="utf-8") as file:
        file.write(SWEEP.format(source=OPTIONS.source))
    done = retort("run", "s.toml", "--slots", "1")
    assert done.returncode == 0, done.stderr
    names = retort("list", "--names", "--results", "results/samples").stdout.split()
    global WORKING, SOUND, LABELS, PLAIN, TEACHER
    WORKING, SOUND, LABELS, PLAIN, TEACHER = (
        next(name for name in names if name.startswith(begin))
        for begin in ("dpdfd-working", "dpdfd-sound", "dp-dfd", "dpsgd", "teacher-raw"))


class Samples(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=FOLDER)
        self.out = os.path.join(self.folder, "made")

    def listed(self):
        return sorted(os.listdir(self.folder))

    def made(self, *words, **more):
        done = sample(*words, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def refused(self, done, code, *texts):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)
        self.assertEqual([name for name in self.listed() if name != "kept"], [])

    def test_every_format_holds_the_same_pictures(self):
        seen = set()
        for form, reader in READERS.items():
            out = os.path.join(self.folder, form)
            done = self.made(WORKING, out, "--json", form=form)
            said = json.loads(done.stdout)
            self.assertEqual(said.pop("out"), out)
            pictures, labels = reader(out)
            self.assertEqual((len(pictures), len(labels)), (150, 150))
            self.assertEqual(said["sha256"], digest(pictures, labels))
            self.assertEqual(said["label_counts"], [labels.count(label) for label in range(10)])
            self.assertEqual(json.loads(read(os.path.join(out, "sample.json"))), said)
            seen.add(said["sha256"])
            self.assertGreater(len(set(pictures)), 140)
        self.assertEqual(len(seen), 1)

    def test_the_first_of_more_are_the_same(self):
        few, many, other = (os.path.join(self.folder, name) for name in ("few", "many", "other"))
        self.made(WORKING, few, count=300)      # no multiple of a batch
        self.made(WORKING, many, count=600)
        self.made(WORKING, other, "--seed", "1", count=300)
        pictures, labels = read_idx(few)
        more, more_labels = read_idx(many)
        self.assertEqual((pictures, labels), (more[:300], more_labels[:300]))
        self.assertTrue(set(pictures).isdisjoint(more[300:]))
        self.assertNotEqual(pictures, read_idx(other)[0])

    def test_retort_reads_what_it_wrote(self):
        for form, reader, keys in (("idx", "idx", ""), ("png", "pictures", "size = [28, 28]"), ("npz", "npz", "classes = 10"),
                                   ("webdataset", "webdataset", "classes = 10\nsize = [28, 28]")):
            out = os.path.join(self.folder, form)
            self.made(WORKING, out, form=form)
            checked = retort("data", "check", reader, out, "classes=10", "--json")   # also those that no picture shows
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            counts = json.loads(read(os.path.join(out, "sample.json")))["label_counts"]
            self.assertEqual([one["count"] for one in json.loads(checked.stdout)["classes"]], counts)
            sweep = os.path.join(self.folder, form + ".toml")
            with open(sweep, "w", encoding="utf-8") as file:
                file.write(READER.format(reader=reader, path=out, keys=keys))
            done = retort("run", sweep, "--slots", "1", "--results", os.path.join(self.folder, "results-" + form))
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_pictures_without_a_proven_claim_are_warned_of(self):
        for trial, warned in ((WORKING, False), (LABELS, True), (SOUND, False)):
            out = os.path.join(self.folder, trial)
            done = self.made(trial, out)
            said = json.loads(read(os.path.join(out, "sample.json")))
            self.assertEqual("warning: no ε is proven for these pictures" in done.stderr, warned, done.stderr)
            self.assertEqual("the pictures carry ε ≤ " in done.stderr, not warned, done.stderr)
            self.assertEqual(said["warning"] is not None, warned)
            proven = [claim for claim in said["claims"]["pictures"]
                      if claim["adjacency"] == "example" and claim["status"] == "proven" and claim["epsilon"] != "inf"]
            self.assertEqual(bool(proven), not warned)

    def test_a_private_teacher_labels_anything(self):
        student, teacher = os.path.join(self.folder, "student"), os.path.join(self.folder, "teacher")
        before = read(path("results/samples/ledger.log"))
        self.made(SOUND, student)
        self.made(SOUND, teacher, "--labels", "teacher")
        self.assertEqual(read_idx(student)[0], read_idx(teacher)[0])
        self.assertNotEqual(read_idx(student)[1], read_idx(teacher)[1])
        self.assertEqual(read(path("results/samples/ledger.log")), before)   # post-processing costs nothing
        self.assertEqual(retort("verify", "--results", "results/samples").returncode, 0)

    def test_another_teacher_gives_only_what_it_released(self):
        before = read(path("results/samples/ledger.log"))
        self.made(LABELS, self.out, "--labels", "teacher", count=16)
        said = json.loads(read(os.path.join(self.out, "sample.json")))
        self.assertIn("released in the trial", said["labels"])
        shown = path("shown.npz")
        done = retort("export", LABELS, "samples", "--format", "npz", "--out", shown, "--force", "--results", "results/samples")
        self.assertEqual(done.returncode, 0, done.stderr)
        with zipfile.ZipFile(shown) as archive:
            pixels = array(archive.read("images.npy"))[2]
            released = struct.unpack("<" + "f" * 160, array(archive.read("released.npy"))[2])
        answers = [max(range(10), key=lambda c, row=row: (released[row * 10 + c], -c)) for row in range(16)]
        self.assertEqual(read_idx(self.out), ([pixels[i:i + 784] for i in range(0, 16 * 784, 784)], answers))
        shutil.rmtree(self.out)
        self.refused(sample(LABELS, self.out, "--labels", "teacher", count=17), 2, "kept 16 pictures", "--count 16 or less")
        self.refused(sample(WORKING, self.out, "--labels", "teacher", count=4), 2, "noisy gradients")
        self.assertEqual(read(path("results/samples/ledger.log")), before)

    def test_a_fresh_classifier_is_tested_once(self):
        done = self.made(SOUND, self.out, "--evaluate", "--json")
        found = json.loads(done.stdout)["evaluation"]
        self.assertEqual((found["network"], found["training_pictures"], found["held_out_pictures"], found["test_examples"]),
                         ("logistic", 135, 15, 256))
        self.assertTrue(1 <= found["chosen_epoch"] <= found["epochs"])
        self.assertTrue(0 <= found["synthetic.accuracy"] <= 1 and found["synthetic.fid"] >= 0, found)
        for name, metric in (("learnt", "synthetic.accuracy"), ("far", "synthetic.fid")):
            table = retort("table", "s.toml", name, "--format", "json")
            self.assertEqual(table.returncode, 0, table.stderr)
            cells = [cell["mean"] for cell in json.loads(table.stdout)["cells"] if cell["n"]]
            self.assertEqual(cells, [found[metric]], table.stdout)
            self.assertIn("150 pictures of seed 0, labels by student", table.stdout)
        again = os.path.join(self.folder, "again")
        self.made(SOUND, again, "--evaluate")
        self.assertEqual(json.loads(read(os.path.join(again, "sample.json")))["evaluation"], found)
        self.assertIn("20 pictures or more", sample(SOUND, os.path.join(self.folder, "x"), "--evaluate", count=10).stderr)

    def test_what_cannot_be_made_is_refused(self):
        self.refused(sample("nobody", self.out), 2, "nobody")
        self.refused(sample(TEACHER, self.out), 2, "no generator")
        self.refused(sample(PLAIN, self.out), 2, "no generator")
        self.refused(sample(WORKING, self.out, count=0), 2, "--count")
        self.refused(sample(WORKING, self.out, count=-5), 2, "--count")
        self.refused(sample(WORKING, self.out, form="indx"), 2, "idx")
        self.refused(sample(WORKING, self.out, "--labels", "techer"), 2, "teacher")
        self.refused(sample(WORKING, os.path.join(self.folder, "no", "such", "made")), 3, "made")

    def test_only_samples_are_replaced(self):
        self.made(WORKING, self.out + "/", count=20)
        first = read(os.path.join(self.out, "sample.json"))
        again = sample(WORKING, self.out, count=30)
        self.assertEqual((again.returncode, read(os.path.join(self.out, "sample.json"))), (2, first))
        self.assertIn("--force", again.stderr)
        self.made(WORKING, self.out, "--force", count=30, form="npz")
        self.assertEqual(sorted(os.listdir(self.out)), ["sample.json", "samples.npz"])
        mine = os.path.join(self.folder, "mine")
        os.mkdir(mine)
        with open(os.path.join(mine, "thesis.txt"), "w", encoding="utf-8") as file:
            file.write("kept")
        for target in (mine, os.path.join(mine, "thesis.txt")):
            done = sample(WORKING, target, "--force")
            self.assertEqual(done.returncode, 2, done.stderr)
        link = os.path.join(self.folder, "link")
        os.symlink(self.out, link)
        self.assertEqual(sample(WORKING, link, "--force").returncode, 2)
        self.assertEqual(os.listdir(mine), ["thesis.txt"])
        self.assertEqual(self.listed(), ["link", "made", "mine"])

    def test_a_kill_leaves_nothing_at_the_path(self):
        for delay in (0.2, 0.6, 1.2):
            process = start("sample", WORKING, "--results", "results/samples", "--count", "40000", "--format", "png", "--out",
                            self.out)
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
            self.assertFalse(os.path.exists(self.out))
        self.made(WORKING, self.out, count=20)
        self.assertEqual(len(read_idx(self.out)[0]), 20)

    def test_a_damaged_file_gives_nothing_away(self):
        copy = path("copied-" + os.path.basename(self.folder))
        shutil.copytree(path("results/samples"), copy)
        listed = json.loads(retort("list", "--results", copy, "--json").stdout)["trials"]
        trial = next(one["trial"] for one in listed if one["name"] == WORKING)
        attempt = next(os.path.join(root, name) for root, _, names in os.walk(copy) for name in names
                       if name == "attempt.h5" and trial in root)
        with open(attempt, "r+b") as file:
            data = file.read()
            at = len(data) // 2
            file.seek(at)
            file.write(bytes(byte ^ 255 for byte in data[at:at + 4096]))
        done = retort("sample", WORKING, "--results", copy, "--count", "20", "--format", "idx", "--out", self.out)
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse(os.path.exists(self.out))

    def test_a_generator_is_exported(self):
        for form in ("safetensors", "torch", "npz", "onnx"):
            out = os.path.join(self.folder, "generator." + form)
            done = retort("export", LABELS, "generator", "--format", form, "--out", out, "--results", "results/samples")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("warning: no ε is proven", done.stderr)
        with zipfile.ZipFile(os.path.join(self.folder, "generator.npz")) as archive:
            arrays = {name: array(archive.read(name)) for name in archive.namelist()}
        self.assertTrue(all(kind == "<f4" for kind, _, _ in arrays.values()), arrays.keys())
        head = read(os.path.join(self.folder, "generator.safetensors"))
        names = json.loads(head[8:8 + struct.unpack("<Q", head[:8])[0]])
        self.assertEqual({name.removesuffix(".npy") for name in arrays}, set(names) - {"__metadata__"})
        said = exported_facts.of_onnx(read(os.path.join(self.folder, "generator.onnx")))
        claims = json.loads(said["claims"])
        self.assertTrue(claims)
        self.assertEqual((exported_facts.proven(claims), json.loads(said["retort"])["claims"]), ([], claims))
        self.assertIn("about pixels: clamp to 0 to 1", said["pixels"])   # DAFL's ends in a batch norm
        student = os.path.join(self.folder, "student.onnx")
        done = retort("export", LABELS, "student", "--format", "onnx", "--out", student, "--results", "results/samples")
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = json.loads(retort("show", LABELS, "--json", "--results", "results/samples").stdout)["claims"]
        self.assertEqual(json.loads(exported_facts.of_onnx(read(student))["claims"]), shown)
        self.assertNotEqual(shown, claims)
        done = retort("export", PLAIN, "generator", "--format", "npz", "--out", os.path.join(self.folder, "none"),
                      "--results", "results/samples")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no generator", done.stderr)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    OPTIONS.retort, OPTIONS.source = os.path.abspath(OPTIONS.retort), os.path.abspath(OPTIONS.source)
    sys.argv = sys.argv[:1]
    FOLDER = tempfile.mkdtemp(prefix="retort-sample-")
    sys.exit(run_tests(FOLDER))
