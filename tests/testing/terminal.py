"""A terminal for tests: a program runs in it, and what a person would see can be asked for at any time."""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

ESCAPE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


class Screen:
    """Lines and a cursor. Knows the escapes that Retort writes, and takes any other for a fault."""

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.lines, self.top = [""], 0          # all lines ever; the first that is on the screen
        self.row, self.column = 0, 0
        self.hidden = False                     # the cursor
        self.wrapped = []                       # lines that were wider than the screen
        self.erased = 0                         # escapes that took something away
        self._decoder, self._rest = codecs.getincrementaldecoder("utf-8")(), ""

    def feed(self, data):
        text, self._rest = self._rest + self._decoder.decode(data), ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                escape = ESCAPE.match(text, at)
                if escape is None:
                    if len(text) - at > 16:
                        raise AssertionError(f"not an escape that is known: {text[at:at + 16]!r}")
                    self._rest = text[at:]
                    return
                self._obey(*escape.groups())
                at = escape.end()
            else:
                self._write(text[at])
                at += 1

    def visible(self):
        return [line.rstrip() for line in self.lines[self.top:]]

    def everything(self):
        """With what has scrolled away."""
        return [line.rstrip() for line in self.lines]

    def _obey(self, number, letter):
        if letter == "A":
            self.row = max(self.top, self.row - int(number or 1))
        elif letter == "K" and number in ("", "0"):
            self._cut()
        elif letter == "J" and number in ("", "0"):
            self._cut()
            self.erased += len(self.lines) > self.row + 1
            del self.lines[self.row + 1:]
        elif number == "?25":
            self.hidden = letter == "l"
        elif letter != "m":
            raise AssertionError(f"not an escape that is known: {number}{letter}")

    def _cut(self):
        self.erased += len(self.lines[self.row]) > self.column
        self.lines[self.row] = self.lines[self.row][:self.column]

    def _write(self, letter):
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self._next_line()
        elif letter < " ":
            raise AssertionError(f"a control character: {letter!r}")
        else:
            if self.column == self.width:
                self.wrapped.append(self.lines[self.row])
                self.column = 0
                self._next_line()
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[:self.column] + letter + line[self.column + 1:]
            self.column += 1

    def _next_line(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")
        self.top = max(self.top, self.row - self.height + 1)


class TerminalRun:
    """A program whose terminal this is. Every picture that it drew is kept in `frames`."""

    def __init__(self, command, width=100, height=30, **variables):
        self.screen, self.raw, self.frames, self.status = Screen(width, height), b"", [], None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
            environment.update({"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **variables})
            time.sleep(0.1)                     # the size is set meanwhile
            os.execvpe(command[0], command, environment)
        self._tell_size()

    def resize(self, width, height):
        self.screen.width, self.screen.height = width, height
        self._tell_size()

    def until(self, condition, what, seconds=60):
        """Reads until `condition(self)` is true, or fails."""
        deadline = time.monotonic() + seconds
        while not condition(self):
            if time.monotonic() > deadline or not self._read(0.1):
                raise AssertionError(f"never came: {what}; the terminal shows:\n" + "\n".join(self.screen.everything()))
        return self

    def ended(self, seconds=60):
        """The exit status, when the program and the terminal's other users have gone."""
        deadline = time.monotonic() + seconds
        while self._read(0.1):
            if time.monotonic() > deadline:
                os.killpg(self.pid, signal.SIGKILL)
                raise AssertionError("did not end; the terminal shows:\n" + "\n".join(self.screen.everything()))
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return self.status

    def press(self, keys):
        os.write(self.fd, keys)

    def _read(self, seconds):
        """False when there is nothing more to come."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:                         # Linux says it so when the last of its users has gone
            return False
        self.raw += data
        self.screen.feed(data)
        if not self.screen.hidden and (not self.frames or self.frames[-1] != self.screen.visible()):
            self.frames.append(self.screen.visible())
        return bool(data)

    def _tell_size(self):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", self.screen.height, self.screen.width, 0, 0))
