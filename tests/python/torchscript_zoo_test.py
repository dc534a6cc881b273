#!/usr/bin/env python3
"""Every kind of network that a sweep can name, and every generator, answers in Python as in the program once torch.jit.load has read
it: for any number of rows, in either mode, with parameters under the names of its state.

usage: torchscript_zoo_test.py RETORT EXPORTED_ZOO SOURCE_DIR
Exit 77 where no Python has torch.
"""
import os
import sys

RETORT, ZOO, SOURCE = sys.argv[1:4]
sys.path.insert(0, os.path.join(SOURCE, "tests", "testing"))
import torch_python  # noqa: E402

torch_python.enter(SOURCE)
import exported_zoo  # noqa: E402
import torch  # noqa: E402


def answer(module, arrays):
    with torch.no_grad():
        return module(*[torch.from_numpy(array) for array in arrays]).numpy()


def compare(line, folder):
    extra = {"retort.json": ""}
    module = torch.jit.load(f"{folder}/model.pt", _extra_files=extra)
    assert not module.training and all(parameter.requires_grad for parameter in module.parameters())
    inputs, expected = exported_zoo.read(folder)
    error = exported_zoo.difference(answer(module, inputs), expected)
    if not line.startswith("generator"):  # whose rows depend on one another
        assert extra["retort.json"] == b'{"a":"b"}'
        assert [argument.name for argument in module.forward.schema.arguments][1:] == ["image"]
        error = max(error, exported_zoo.difference(answer(module.train(), [inputs[0][:1]]), expected[:1]))
    return error


def check_alarm(folder):
    """A weight that is wrong by a hundredth is seen, and is the module's own."""
    module = torch.jit.load(f"{folder}/model.pt")
    with torch.no_grad():
        dict(module.named_parameters())["fc2.weight"].mul_(1.01)
    inputs, expected = exported_zoo.read(folder)
    assert exported_zoo.difference(answer(module, inputs), expected) > 100 * exported_zoo.TOLERANCE


if __name__ == "__main__":
    sys.exit(exported_zoo.run(RETORT, ZOO, compare, check_alarm, "torchscript"))
