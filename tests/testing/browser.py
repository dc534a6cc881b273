"""A headless Chromium, where the machine has one: pages as people see them."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser():
    """Path of the program; None where there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One page of a browser, spoken to by its DevTools protocol over a pipe. Use as a context."""

    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="retort-browser-")
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        for fd in (self.write, self.read):
            os.set_inheritable(fd, False)

        def connect():
            # The browser reads descriptor 3 and writes descriptor 4, whatever numbers the pipes got.
            spare = os.dup(from_browser), os.dup(to_browser)
            os.dup2(spare[1], 3)
            os.dup2(spare[0], 4)
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--remote-debugging-pipe", "--no-first-run", "--user-data-dir=" + self.profile, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=connect)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.events = b"", 0, []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Network", "Log"):
            self.call(part + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.write)
        os.close(self.read)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.read, 1 << 16)
            if not more:
                raise AssertionError("the browser has ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.number:
            self.events.append(answer)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, url, width, height=900):
        """Shows a page on a screen of that width; one of less than 600 is a phone's."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Page.navigate", url=url)

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait_for(self, expression, seconds=30):
        until = time.monotonic() + seconds
        while not (value := self.evaluate(expression)):
            if time.monotonic() > until:
                raise AssertionError(f"not within {seconds} s: {expression}\n" + self.evaluate("document.body.innerText")[:2000])
            time.sleep(0.05)
        return value

    def asked_for(self):
        """URLs of all requests so far."""
        self.evaluate("0")
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def complaints(self):
        """What the browser logged: violations of the page's policy, errors of its scripts."""
        self.evaluate("0")
        return [e["params"] for e in self.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]

    def screenshot(self, path, whole=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
