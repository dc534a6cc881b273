"""Reads TensorBoard's event files without TensorBoard: TFRecord framing with masked CRC-32C, and the protobuf wire format."""
import struct


def crc32c(data):
    """Castagnoli's, bit by bit as RFC 3720 defines it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The bytes of each record; ValueError where a checksum or the framing is wrong."""
    at = 0
    while at < len(data):
        if len(data) - at < 16:
            raise ValueError(f"cut at byte {at}")
        length, head = struct.unpack_from("<QI", data, at)
        if masked(data[at:at + 8]) != head:
            raise ValueError(f"checksum of the length at byte {at}")
        if length > len(data) - at - 16:
            raise ValueError(f"cut at byte {at}")
        record = data[at + 12:at + 12 + length]
        if masked(record) != struct.unpack_from("<I", data, at + 12 + length)[0]:
            raise ValueError(f"checksum of the record at byte {at}")
        yield record
        at += length + 16


def fields(message):
    """[(number, value)] of one protobuf message: integers, bytes, and floats of 4 and 8 bytes."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        elif kind == 2:
            length = varint()
            value = message[at:at + length]
            if len(value) != length:
                raise ValueError("a field is cut")
            at += length
        elif kind in (1, 5):
            form, size = ("<d", 8) if kind == 1 else ("<f", 4)
            value = struct.unpack_from(form, message, at)[0]
            at += size
        else:
            raise ValueError(f"wire type {kind}")
        found.append((key >> 3, value))
    return found


def only(message, number, default=None):
    values = [value for key, value in fields(message) if key == number]
    if len(values) > 1:
        raise ValueError(f"field {number} stands {len(values)} times")
    return values[0] if values else default


def read(path):
    """What a file holds: {"version", "times": [...], "scalars": {tag: [(step, wall time, value)]}, "texts": {tag: text},
    "settings": {name: value}, "status", "began", "ended"}."""
    with open(path, "rb") as file:
        events = list(records(file.read()))
    told = {"version": only(events[0], 3).decode(), "times": [], "scalars": {}, "texts": {}, "settings": {}}
    for event in events[1:]:
        at, step = only(event, 1), only(event, 2, 0)
        value = only(only(event, 5), 1)
        tag, number = only(value, 1).decode(), only(value, 2)
        told["times"].append(at)
        if number is not None:
            told["scalars"].setdefault(tag, []).append((step, at, number))
            continue
        plugin = only(only(value, 9), 1)
        if only(plugin, 1) == b"text":
            tensor = only(value, 8)
            assert only(tensor, 1) == 7, "DT_STRING"
            told["texts"][tag] = only(tensor, 8).decode()
        else:
            add_hyperparameters(told, only(plugin, 2))
    return told


def add_hyperparameters(told, content):
    start, end = only(content, 3), only(content, 4)
    if end is not None:
        told["status"], told["ended"] = only(end, 1), only(end, 2)
        return
    told["began"] = only(start, 5)
    for number, entry in fields(start):
        if number == 1:
            (_, value), = fields(only(entry, 2))
            told["settings"][only(entry, 1).decode()] = value.decode() if isinstance(value, bytes) else value
