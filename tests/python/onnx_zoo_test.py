#!/usr/bin/env python3
"""Every kind of network that a sweep can name, and every generator, answers in ONNX Runtime as in the program, for any number of rows.

usage: onnx_zoo_test.py RETORT EXPORTED_ZOO SOURCE_DIR
Exit 77 where no Python has onnx and onnxruntime.
"""
import os
import sys

RETORT, ZOO, SOURCE = sys.argv[1:4]
sys.path.insert(0, os.path.join(SOURCE, "tests", "testing"))
import onnx_answers  # noqa: E402

onnx_answers.enter()
import exported_zoo  # noqa: E402
import numpy  # noqa: E402
import onnx  # noqa: E402

IR_VERSION, OPSET = 8, 17


def compare(line, folder):
    model = onnx_answers.check(f"{folder}/model.onnx")
    assert model.ir_version == IR_VERSION and [(one.domain, one.version) for one in model.opset_import] == [("", OPSET)]
    session = onnx_answers.open_model(f"{folder}/model.onnx")
    assert all(place.shape[0] == "rows" for place in [*session.get_inputs(), *session.get_outputs()])
    inputs, expected = exported_zoo.read(folder)
    error = exported_zoo.difference(onnx_answers.answer(session, inputs), expected)
    if not line.startswith("generator"):  # whose rows depend on one another
        assert [place.name for place in session.get_inputs()] == ["image"] and session.get_outputs()[0].name == "logits"
        error = max(error, exported_zoo.difference(onnx_answers.answer(session, [inputs[0][:1]]), expected[:1]))
    return error


def check_alarm(folder):
    """A weight that is wrong by a hundredth is seen."""
    model = onnx.load(f"{folder}/model.onnx")
    assert "fc2.weight" in [tensor.name for tensor in model.graph.initializer]
    for tensor in model.graph.initializer:
        if tensor.name == "fc2.weight":
            tensor.raw_data = (numpy.frombuffer(tensor.raw_data, "<f4") * numpy.float32(1.01)).tobytes()
    inputs, expected = exported_zoo.read(folder)
    answer = onnx_answers.answer(onnx_answers.open_model(model.SerializeToString()), inputs)
    assert exported_zoo.difference(answer, expected) > 100 * exported_zoo.TOLERANCE


if __name__ == "__main__":
    sys.exit(exported_zoo.run(RETORT, ZOO, compare, check_alarm))
