"""Processes of another user of this host, that know of a sweep what every user can see. Loopback only; bounded in number and
time."""
import os
import select
import signal
import socket
import struct
import sys
import time

NOBODY = 65534


class Stranger:
    """Runs act(until) in a process of its own, as another user where this one may; for `seconds` at the most."""

    def __init__(self, act, seconds=60):
        self.pid = os.fork()
        if self.pid != 0:
            return
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            act(time.monotonic() + seconds)
        except BaseException as error:          # of a test's own process: whatever it is, it ends here
            print("stranger:", repr(error), file=sys.stderr, flush=True)
        finally:
            os._exit(0)

    def end(self):
        if self.pid is None:
            return
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.pid = None


def is_another_user():
    return os.getuid() == 0


def connect(address):
    made = socket.socket(socket.AF_INET if "." in address[0] else socket.AF_INET6)
    made.settimeout(1)
    try:
        made.connect(address)
    except OSError:
        made.close()
        return None
    return made


def hold(address, count):
    """An act: holds `count` connections open, each of which says a byte a second, and opens those anew that are closed."""
    def act(until):
        held = []
        while time.monotonic() < until:
            begin = time.monotonic()
            for made in held[:]:
                try:
                    made.send(b"G")
                    if select.select([made], [], [], 0)[0] and not made.recv(4096):
                        raise OSError("closed")
                except OSError:
                    held.remove(made)
                    made.close()
            while len(held) < count and time.monotonic() < begin + 1:
                if (made := connect(address)) is None:
                    break
                held.append(made)
            time.sleep(max(0.0, begin + 1 - time.monotonic()))
    return act


def say_too_much(address):
    """An act: connections that say more than a request may hold, one after the other."""
    def act(until):
        while time.monotonic() < until:
            if (made := connect(address)) is None:
                continue
            try:
                made.sendall(b"GET /")
                for _ in range(2000):
                    made.sendall(b"a" * 10_000)
            except OSError:
                pass
            made.close()
    return act


def listeners():
    """The addresses at which somebody listens on loopback."""
    found = set()
    for table, size in (("/proc/net/tcp", 8), ("/proc/net/tcp6", 32)):
        if not os.path.exists(table):
            continue
        with open(table, encoding="ascii") as file:
            lines = file.read().splitlines()[1:]
        for line in lines:
            _, local, _, state = line.split()[:4]
            address, port = local.split(":")
            if state != "0A" or len(address) != size:
                continue
            words = b"".join(struct.pack("=I", int(address[at:at + 8], 16)) for at in range(0, size, 8))
            name = socket.inet_ntop(socket.AF_INET if size == 8 else socket.AF_INET6, words)
            if name.startswith("127.") or name == "::1":
                found.add((name, int(port, 16)))
    return found


def fill_and_end(made):
    """Ends this half of a connection behind more bytes than the other end has room for."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    made.setblocking(False)
    try:
        while True:
            made.send(b"\0" * 65536)
    except BlockingIOError:
        made.shutdown(socket.SHUT_WR)


def pose_as_members(known, rubbish):
    """An act: at every listening port that is not `known` yet, comes before the members of a gang do, with each of the first
    numbers by which Gloo tells them apart, and goes on with `rubbish`; None: with all that fits, and its end behind that."""
    def act(until):
        seen, held = set(known), []
        while time.monotonic() < until:
            for address in listeners() - seen:
                seen.add(address)
                for number in range(8):
                    if made := connect(address):
                        held.append(made)
                        try:
                            made.send(struct.pack("<q", number) + (rubbish or b""))
                            if rubbish is None:
                                fill_and_end(made)
                        except OSError:
                            pass
            for made in held[:-200]:
                made.close()
            del held[:-200]
    return act
