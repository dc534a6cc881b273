"""Opens what `retort export TRIAL student --format safetensors | torch` wrote."""
import json
import pathlib
import zipfile

import torch

from retort.network import Network

KEY = "retort"                     # in the metadata of a safetensors file
MEMBER = "/extra/retort.json"      # in the archive of a .pth file, behind its folder
VERSION = 1
TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64, "I32": torch.int32,
         "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool}


class NoStudent(ValueError):
    """The file is no exported network, or does not say what its layers are."""


def read_safetensors(path):
    """(state, text of the description or None). Nothing in the file is run."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8:8 + size])
        metadata = header.pop("__metadata__", {})
        state = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            body = bytearray(data[8 + size + begin:8 + size + end])
            dtype = TYPES[entry["dtype"]]
            state[name] = (torch.frombuffer(body, dtype=dtype) if body else torch.empty(0, dtype=dtype)).reshape(entry["shape"])
    except (ValueError, KeyError, TypeError, RuntimeError) as damage:
        raise NoStudent(f"{path} cannot be read as safetensors ({type(damage).__name__}: {damage})") from damage
    return state, metadata.get(KEY)


def read_torch(path):
    with zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if name.endswith(MEMBER)]
        text = archive.read(members[0]).decode() if members else None
    return torch.load(path, map_location="cpu", weights_only=True), text


def read_file(path):
    if not path.exists():
        raise FileNotFoundError(f"there is no {path}; `retort export TRIAL student --format safetensors --out {path}` writes one")
    with open(path, "rb") as file:
        start = file.read(9)
    if start[:2] == b"PK":
        with zipfile.ZipFile(path) as archive:
            if not any(name.endswith("data.pkl") for name in archive.namelist()):
                raise NoStudent(f"{path} is a zip without a state dict (an .npz has no place for the layers): export with "
                                "--format safetensors or --format torch")
        return read_torch(path)
    if start[8:] == b"{":
        return read_safetensors(path)
    if path.suffix == ".onnx":
        raise NoStudent(f"{path} is an ONNX model, for ONNX Runtime and the like: export with --format safetensors or --format torch")
    raise NoStudent(f"{path} is neither a safetensors file nor one of torch.save: export with --format safetensors or --format torch")


def describe_student(path):
    """What the file says of the network: `network`, `layers`, `image`, `classes`, `mean`, `std`, `trial`, `name`, `claims`."""
    return read_description(pathlib.Path(path), read_file(pathlib.Path(path))[1])


def read_description(path, text):
    if text is None:
        raise NoStudent(f"{path} does not say what its layers are: it was written by another program or an earlier version of retort; "
                        "`retort export TRIAL student --format safetensors` writes one that does")
    try:
        description = json.loads(text)
        version, layers = description["version"], description["layers"]
    except (ValueError, KeyError, TypeError) as damage:
        raise NoStudent(f"what {path} says of its layers cannot be read: {damage}") from damage
    if version != VERSION or not isinstance(layers, list) or not layers:
        raise NoStudent(f"{path} describes its layers in version {version}, and this package reads version {VERSION}: "
                        "install the package of the retort that wrote it")
    return description


def load_student(path, device="cpu"):
    """The exported network (a student's or a teacher's) as an nn.Module in evaluation mode.

    Its state has the names of the file; `facts` has what else the file says. It answers f32 [rows, channels, height, width],
    normalised as in training (`prepare`), with logits [rows, classes]."""
    path = pathlib.Path(path)
    state, text = read_file(path)
    description = read_description(path, text)
    try:
        network = Network(description["layers"], state, {key: value for key, value in description.items() if key != "layers"})
    except (KeyError, TypeError) as misfit:
        raise NoStudent(f"the layers and the state of {path} do not fit: {misfit}") from misfit
    return network.to(device).eval()
