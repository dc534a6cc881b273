"""A Prometheus server of a test's own."""
import json
import os
import re
import socket
import subprocess
import urllib.parse
import urllib.request


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Api:
    """What a server on a port of this host answers."""

    def __init__(self, port):
        self.port = port

    def ask(self, path, **query):
        """The `data` of an answer of the HTTP API; None where there is none yet."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as reply:
                return json.load(reply)["data"]
        except OSError:
            return None

    def values(self, expression):
        """Series of an instant query; None where it cannot be answered."""
        data = self.ask("query", query=expression)
        return None if data is None else data["result"]

    def firing(self):
        """(alert, sweep) of what fires now."""
        alerts = (self.ask("alerts") or {"alerts": []})["alerts"]
        return {(alert["labels"]["alertname"], alert["labels"].get("sweep")) for alert in alerts
                if alert["state"] == "firing"}


class Prometheus(Api):
    """Runs the shipped configuration each second, on the targets and with the rule files that are given, and with `jobs`,
    further entries of scrape_configs."""

    def __init__(self, folder, source, targets, rules, jobs=""):
        super().__init__(free_port())
        with open(os.path.join(source, "monitoring/prometheus.yml"), encoding="utf-8") as file:
            text = file.read()
        text = text.replace("../results/targets.json", targets).replace("rules/*.yml", rules) + jobs
        with open(os.path.join(folder, "prometheus.yml"), "w", encoding="utf-8") as file:
            file.write(re.sub(r"(interval): 15s", r"\1: 1s", text))
        self.server = subprocess.Popen(
            ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=error",
             f"--web.listen-address=127.0.0.1:{self.port}"], cwd=folder)

    def end(self):
        self.server.terminate()
        self.server.wait()
