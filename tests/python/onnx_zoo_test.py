#!/usr/bin/env python3
"""Every kind of network that a sweep can name, and every generator, answers in ONNX Runtime as in the program, for any number of rows.

usage: onnx_zoo_test.py RETORT ONNX_ZOO SOURCE_DIR
Exit 77 where no Python has onnx and onnxruntime.
"""
import os
import re
import subprocess
import sys
import tempfile

RETORT, ZOO, SOURCE = sys.argv[1:4]
sys.path.insert(0, os.path.join(SOURCE, "tests", "testing"))
import onnx_answers  # noqa: E402

onnx_answers.enter()
import numpy  # noqa: E402
import onnx  # noqa: E402

TOLERANCE = 1e-5
SHAPES = {"alexnet": ["3 64 64"], "hog-linear": ["1 27 21", "3 32 32"], "patch-linear": ["1 27 21", "3 32 32"],
          "scattering-linear": ["1 27 21", "3 32 32"], "hog-scattering-linear": ["3 13 16"]}
GENERATORS = ["dafl 1 28 28", "dafl 3 128 128", "fast 3 32 32", "conditional 1 28 28", "described 3 12 16",
              "described-in-groups 3 82 82", "conditional-described 3 12 16"]
# Deeper or wider siblings: others have each of their kinds of layers.
LEFT_OUT = {"vgg19_bn", "resnet50", "wide_resnet50_2", "googlenet", "resnet34", "resnet34-gn", "resnet50-gn", "resnet34-cifar", "resnet34-cifar-gn",
            "wrn40-1", "wrn40-1-gn"}
IR_VERSION, OPSET = 8, 17


def network_names():
    said = subprocess.run([RETORT, "model", "check", "0"], capture_output=True, text=True, check=False).stderr
    names = re.search(r"there are (.*)\.", said).group(1).split(", ")
    assert len(names) > 40 and LEFT_OUT < set(names), said
    return [name for name in names if name not in LEFT_OUT]


def difference(given, expected):
    assert given.shape == expected.shape and numpy.abs(expected).max() > 0, (given.shape, expected.shape)
    return float(numpy.abs(given - expected).max() / numpy.abs(expected).max())


def read(folder):
    inputs = [numpy.load(f"{folder}/{name}.npy") for name in ("input", "label") if os.path.exists(f"{folder}/{name}.npy")]
    return inputs, numpy.load(f"{folder}/output.npy")


def compare(line, folder):
    model = onnx_answers.check(f"{folder}/model.onnx")
    assert model.ir_version == IR_VERSION and [(one.domain, one.version) for one in model.opset_import] == [("", OPSET)]
    session = onnx_answers.open_model(f"{folder}/model.onnx")
    assert all(place.shape[0] == "rows" for place in [*session.get_inputs(), *session.get_outputs()])
    inputs, expected = read(folder)
    error = difference(onnx_answers.answer(session, inputs), expected)
    if not line.startswith("generator"):  # whose rows depend on one another
        assert [place.name for place in session.get_inputs()] == ["image"] and session.get_outputs()[0].name == "logits"
        error = max(error, difference(onnx_answers.answer(session, [inputs[0][:1]]), expected[:1]))
    return error


def check_alarm(folder):
    """A weight that is wrong by a hundredth is seen."""
    model = onnx.load(f"{folder}/model.onnx")
    assert "fc2.weight" in [tensor.name for tensor in model.graph.initializer]
    for tensor in model.graph.initializer:
        if tensor.name == "fc2.weight":
            tensor.raw_data = (numpy.frombuffer(tensor.raw_data, "<f4") * numpy.float32(1.01)).tobytes()
    inputs, expected = read(folder)
    assert difference(onnx_answers.answer(onnx_answers.open_model(model.SerializeToString()), inputs), expected) > 100 * TOLERANCE


def main():
    lines = [f"{name} {shape}" for name in network_names() for shape in SHAPES.get(name, ["3 32 32"])]
    worst, alarms = 0.0, 0
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen([ZOO, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as zoo:
        for line in lines + [f"generator {generator}" for generator in GENERATORS]:
            for name in os.listdir(folder):
                os.unlink(os.path.join(folder, name))
            zoo.stdin.write(line + "\n")
            zoo.stdin.flush()
            assert zoo.stdout.readline() == "done\n", line
            error = compare(line, folder)
            print(f"{line}: relative difference {error:.1e}", flush=True)
            assert error <= TOLERANCE, (line, error)
            if line.startswith("datalens "):
                check_alarm(folder)
                alarms += 1
            worst = max(worst, error)
        zoo.stdin.close()
        assert zoo.wait() == 0 and alarms == 1
    print(f"{len(lines)} networks, {len(GENERATORS)} generators, worst {worst:.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
