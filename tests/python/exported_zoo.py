"""Every kind of network that a sweep can name, and every generator, written by the program `exported_zoo` with what it answers."""
import os
import re
import subprocess
import tempfile

import numpy

TOLERANCE = 1e-5
SHAPES = {"alexnet": ["3 64 64"], "hog-linear": ["1 27 21", "3 32 32"], "patch-linear": ["1 27 21", "3 32 32"],
          "scattering-linear": ["1 27 21", "3 32 32"], "hog-scattering-linear": ["3 13 16"]}
GENERATORS = ["dafl 1 28 28", "dafl 3 128 128", "fast 3 32 32", "conditional 1 28 28", "described 3 12 16",
              "described-in-groups 3 82 82", "conditional-described 3 12 16"]
# Deeper or wider siblings: others have each of their kinds of layers.
LEFT_OUT = {"vgg19_bn", "resnet50", "wide_resnet50_2", "googlenet", "resnet34", "resnet34-gn", "resnet50-gn", "resnet34-cifar", "resnet34-cifar-gn",
            "wrn40-1", "wrn40-1-gn"}


def network_names(retort):
    said = subprocess.run([retort, "model", "check", "0"], capture_output=True, text=True, check=False).stderr
    names = re.search(r"there are (.*)\.", said).group(1).split(", ")
    assert len(names) > 40 and LEFT_OUT < set(names), said
    return [name for name in names if name not in LEFT_OUT]


def difference(given, expected):
    assert given.shape == expected.shape and numpy.abs(expected).max() > 0, (given.shape, expected.shape)
    return float(numpy.abs(given - expected).max() / numpy.abs(expected).max())


def read(folder):
    inputs = [numpy.load(f"{folder}/{name}.npy") for name in ("input", "label") if os.path.exists(f"{folder}/{name}.npy")]
    return inputs, numpy.load(f"{folder}/output.npy")


def run(retort, zoo, compare, check_alarm, *options):
    """Has every network written, and compare(line, folder) give the relative difference; check_alarm(folder) sees one network."""
    lines = [f"{name} {shape}" for name in network_names(retort) for shape in SHAPES.get(name, ["3 32 32"])]
    worst, alarms = 0.0, 0
    with tempfile.TemporaryDirectory() as folder, \
            subprocess.Popen([zoo, folder, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        for line in lines + [f"generator {generator}" for generator in GENERATORS]:
            for name in os.listdir(folder):
                os.unlink(os.path.join(folder, name))
            writer.stdin.write(line + "\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "done\n", line
            error = compare(line, folder)
            print(f"{line}: relative difference {error:.1e}", flush=True)
            assert error <= TOLERANCE, (line, error)
            if line.startswith("datalens "):
                check_alarm(folder)
                alarms += 1
            worst = max(worst, error)
        writer.stdin.close()
        assert writer.wait() == 0 and alarms == 1
    print(f"{len(lines)} networks, {len(GENERATORS)} generators, worst {worst:.1e}")
    return 0
