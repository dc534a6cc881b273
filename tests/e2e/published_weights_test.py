"""Weights by torchvision's names: found in the cache of torch.hub, and refused with the reason where they are not.

usage: published_weights_test.py --retort PROGRAM --source DIR
"""
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import parse_options, run_tests  # noqa: E402

OPTIONS = None
FOLDER = None
NAME, FILE = "MobileNet_V2_Weights.IMAGENET1K_V1", "mobilenet_v2-b0353104.pth"
SWEEP = """
retort = 1
[data.digits]
reader = "idx"
path = "{source}/experiments/data/mnist10k"
split = {{ shuffle = 1, train = [0, 64], test = [64, 96] }}
[teacher]
own = {{ network = "logistic", weights = "{weights}" }}
[trial]
data = "digits"
method = "dpdfd"
reading = "working"
teacher = "own"
student = "logistic"
steps = 1
[sweep]
name = "named"
seeds = [0]
"""


def retort(*words, **variables):
    environment = {key: value for key, value in os.environ.items() if key not in ("TORCH_HOME", "XDG_CACHE_HOME")}
    done = subprocess.run([OPTIONS.retort, *words], cwd=FOLDER, capture_output=True, text=True, timeout=100, check=False,
                          env={**environment, "HOME": FOLDER, **variables})
    done.words = re.sub(r"\s+", " ", done.stderr)
    return done


class PublishedWeightsTest(unittest.TestCase):
    def write(self, weights, name="named.toml"):
        with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
            file.write(SWEEP.format(weights=weights, source=OPTIONS.source))
        return name

    def asked(self, **variables):
        """What plan, run and model check say of the name."""
        sweep = self.write(NAME)
        return [retort("plan", sweep, **variables), retort("run", sweep, **variables),
                retort("model", "check", "mobilenet_v2", "--weights", NAME, **variables)]

    def test_AbsentFilesAreToldWithTheirPlace(self):
        places = (({}, os.path.join(FOLDER, ".cache/torch/hub/checkpoints")),
                  ({"XDG_CACHE_HOME": os.path.join(FOLDER, "x")}, os.path.join(FOLDER, "x/torch/hub/checkpoints")),
                  ({"TORCH_HOME": "~/t"}, os.path.join(FOLDER, "t/hub/checkpoints")))
        for variables, place in places:
            planned, *others = self.asked(**variables)
            self.assertEqual(planned.returncode, 0, planned.stderr)  # a plan may do without files
            self.assertEqual([done.returncode for done in others], [3, 3])
            for done in (planned, *others):
                for words in (NAME, f"bring {FILE} from https://download.pytorch.org/models/{FILE}", f"into {place}."):
                    self.assertIn(words.replace(" ", ""), done.words.replace(" ", ""))
            self.assertFalse(os.path.exists(place))

    def test_OtherBytesAreRefusedWithBothDigests(self):
        home = os.path.join(FOLDER, "other")
        os.makedirs(os.path.join(home, "hub/checkpoints"))
        with open(os.path.join(home, "hub/checkpoints", FILE), "wb") as file:
            file.write(b"other bytes")
        for done in self.asked(TORCH_HOME=home):
            self.assertIn(done.returncode, (1, 2, 3), done.stdout)
            for words in (hashlib.sha256(b"other bytes").hexdigest(), "begins with b0353104", FILE):
                self.assertIn(words.replace(" ", ""), done.words.replace(" ", ""))

    def test_UnknownNamesAreToldTheNearest(self):
        sweep = self.write("MobileNetV2_Weights.IMAGENET1K_V1", "unknown.toml")
        for done in (retort("plan", sweep),
                     retort("model", "check", "mobilenet_v2", "--weights", "MobileNetV2_Weights.IMAGENET1K_V1")):
            self.assertEqual(done.returncode, 2)
            self.assertIn(NAME, done.words)
        self.assertIn("unknown.toml:8:41:", retort("plan", sweep).stderr)

    def test_AFileOfThatNameHasAPath(self):
        done = retort("run", self.write("./" + NAME, "path.toml"))
        self.assertNotIn("download.pytorch.org", done.words)
        self.assertIn(os.path.join(FOLDER, NAME), done.words)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    OPTIONS.retort, OPTIONS.source = os.path.abspath(OPTIONS.retort), os.path.abspath(OPTIONS.source)
    FOLDER = tempfile.mkdtemp(prefix="retort-published-weights-")
    sys.exit(run_tests(FOLDER))
