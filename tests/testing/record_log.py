"""Record logs as storage/FORMAT.md writes them down: read, changed and written by somebody else than Retort."""
import json
import struct

MAGIC = b"RETORTLG"
JOURNAL, LEDGER = 1, 2                 # kinds of log
ATTEMPT_LEASED, ATTEMPT_ENDED = 5, 9    # types of journal records
TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data):
    state = 0xFFFFFFFF
    for byte in data:
        state = TABLE[(state ^ byte) & 0xFF] ^ state >> 8
    return state ^ 0xFFFFFFFF


def header(kind=JOURNAL, version=1):
    begin = MAGIC + struct.pack("<HH", version, kind)
    return begin + struct.pack("<I", crc32c(begin))


def record(kind, payload):
    length, number = struct.pack("<I", len(payload)), struct.pack("<H", kind)
    return length + struct.pack("<I", crc32c(length + number + payload)) + number + payload


def json_record(kind, event):
    return record(kind, json.dumps(event).encode())


def records(log):
    """[(type, payload)] of the whole records of a log's bytes."""
    found, at = [], 16
    while at + 10 <= len(log):
        length, _, kind = struct.unpack_from("<IIH", log, at)
        if at + 10 + length > len(log):
            break
        found.append((kind, log[at + 10:at + 10 + length]))
        at += 10 + length
    return found


def time_of(payload):
    """Unix seconds of a journal's event, packed or JSON."""
    return json.loads(payload)["at"] if payload[:1] == b"{" else struct.unpack_from("<d", payload, 1)[0]


def at_time(payload, seconds):
    """The same event at another time."""
    if payload[:1] != b"{":
        return payload[:1] + struct.pack("<d", seconds) + payload[9:]
    event = json.loads(payload)
    return json.dumps({**event, "at": seconds}).encode()


def change_journal(path, change):
    """Writes the journal anew; change(index, type, payload) gives the new payload of each record."""
    with open(path, "rb") as file:
        found = records(file.read())
    with open(path, "wb") as file:
        file.write(header())
        for index, (kind, payload) in enumerate(found):
            file.write(record(kind, change(index, kind, payload)))
