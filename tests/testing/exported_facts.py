"""What an exported file says of itself, read without ONNX, torch or safetensors."""
import json
import struct


def of_safetensors(data):
    """The description of a student."""
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(json.loads(data[8:8 + size])["__metadata__"]["retort"])


def fields(data):
    """(number, value) of every field of a protobuf message: bytes, or for varints an int."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        value = varint()
        assert tag & 7 in (0, 2), tag
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        yield tag >> 3, value


def of_onnx(data):
    """{key: text} of a model's metadata."""
    metadata_props = 14
    entries = [dict(fields(value)) for number, value in fields(data) if number == metadata_props]
    return {entry[1].decode(): entry[2].decode() for entry in entries}


def proven(claims):
    return [claim for claim in claims if claim["status"] == "proven"]
