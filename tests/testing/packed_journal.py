"""Journal records of folder format 2 as those of format 1, which are JSON alone: storage/FORMAT.md, section 2."""
import json
import struct

CLOSING = 1     # u8


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0] if len(values) == 1 else values

    def raw(self, size):
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def text(self):
        return self.raw(self.take("I"))

    def trial(self):
        return f"{self.take('Q'):016x}"

    def numbers(self):
        return [[self.text(), self.take("d")] for _ in range(self.take("I"))]


class JournalReader:
    """Takes the records of one journal in their order."""

    def __init__(self):
        self.templates = []
        self.readers = {2: self.planned, 3: self.adopted, 5: self.leased, 6: self.attempt, 7: self.checkpoint,
                        8: self.progress, 9: self.ended, 10: self.row}

    def event(self, kind, payload):
        if payload[:1] == b"{":
            return json.loads(payload)
        data = Bytes(payload)
        _, at = data.take("Bd")
        event = {"at": at, **self.readers[kind](data)}
        if data.take("B") != CLOSING or data.at != len(payload):
            raise AssertionError(f"a packed record of type {kind} is not as storage/FORMAT.md says")
        return event

    def stored(self, data):
        form = data.take("B")
        if form < 2:
            text = data.text()
            if form == 1:
                self.templates.append(text.split(","))
            return text
        number, count = data.take("HH")
        pieces = list(self.templates[number])
        for _ in range(count):
            piece, size = data.take("HH")
            pieces[piece] = data.raw(size)
        return ",".join(pieces)

    def planned(self, data):
        return {"spec": self.stored(data)}

    def adopted(self, data):
        return {"order": [data.trial() for _ in range(data.take("I"))]}

    def attempt(self, data):
        return {"trial": data.trial(), "attempt": data.take("I")}

    def leased(self, data):
        event = {**self.attempt(data), "generation": data.take("Q")}
        return {**event, "members": [list(data.take("II")) for _ in range(data.take("I"))]}

    def checkpoint(self, data):
        return {**self.attempt(data), "step": data.take("q"), "digest": data.text()}

    def progress(self, data):
        event = {**self.attempt(data), "step": data.take("q")}
        return {**event, "total_steps": data.take("q"), "phase": data.text()}

    def ended(self, data):
        event, flags = self.attempt(data), data.take("B")
        event.update(succeeded=bool(flags & 1), for_good=bool(flags & 2), failure=data.text(), detail=data.text())
        event.update(metrics=data.numbers(), timings=data.numbers(), parameters_digest=data.text(), file=data.text())
        return {**event, "retry_at": data.take("d")}

    def row(self, data):
        data.trial()
        return {"row": self.stored(data)}
