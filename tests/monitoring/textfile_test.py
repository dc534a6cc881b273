#!/usr/bin/env python3
"""Where nothing may be scraped: a real Prometheus reads the metrics.prom of a real sweep from a host's collector. Panels
answer from it as from the endpoint, and a run that is killed is told from one that ends."""
import http.server
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from expressions import need
from fault_case import SLEEPS, write_shortened_rules
from prometheus import Prometheus
from sweep_run import all_tests_pass, parse_options, wait_for
from watched_sweep import WatchedSweep, expressions_of_panels, wait_until_filled

JOB = """
  - job_name: node
    honor_labels: true
    static_configs: [{{ targets: ["{address}"] }}]
"""
WINDOW = 40  # seconds of the shortened rules; the file is written every 15


class Collector:
    """Serves the text of a file, as node_exporter does with what is linked into its folder."""

    def __init__(self, path):
        class Page(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                try:
                    with open(path, "rb") as file:
                        text = file.read()
                except FileNotFoundError:
                    text = b""
                self.send_response(200)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        self.address = "127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class Textfile(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def collect(self, path):
        collector = Collector(path)
        self.addCleanup(collector.end)
        return collector.address

    def test_panels_answer_from_file_as_from_endpoint(self):
        address = self.collect(os.path.join(self.folder, "results/metrics.prom"))
        watched = WatchedSweep(self.folder, OPTIONS, os.path.join(OPTIONS.source, "monitoring/rules/*.yml"),
                               JOB.format(address=address))
        self.addCleanup(watched.end)
        left = wait_until_filled(watched.server, expressions_of_panels(OPTIONS.source, watched.target)[0])
        empty = {where for where, _ in left}
        scraped = [(where, expression) for where, expression in expressions_of_panels(OPTIONS.source, address)[0]
                   if where not in empty]
        self.assertEqual(wait_until_filled(watched.server, scraped), [])
        print(f"{len(scraped)} expressions answer from metrics.prom")
        of_file = f'{{instance="{address}", sweep!="watched", __name__=~"retort_.+"}}'
        self.assertEqual(watched.server.values(of_file), [], "a sample does not name its sweep")

    def run_sweep(self, name, seconds):
        with open(os.path.join(self.folder, name + ".toml"), "w", encoding="utf-8") as file:
            file.write(SLEEPS.format(name=name, seconds=seconds))
        with open(os.path.join(self.folder, name + ".log"), "w", encoding="utf-8") as log:
            return subprocess.Popen([OPTIONS.retort, "run", name + ".toml", "--results", name, "--slots", "2",
                                     "--metrics-listen", "127.0.0.1:0"], cwd=self.folder, stderr=log)

    def test_a_killed_run_is_told_from_a_finished_one(self):
        names = ("killed", "saved", "finished")
        jobs = "".join(JOB.format(address=self.collect(os.path.join(self.folder, name, "metrics.prom"))).replace(
            "node", "node-" + name) for name in names)
        server = Prometheus(self.folder, OPTIONS.source, "none/targets.json",
                            write_shortened_rules(OPTIONS.source, self.folder, WINDOW), jobs)
        self.addCleanup(server.end)
        runs = {name: self.run_sweep(name, "[200, 201]" if name != "finished" else "[1, 2, 20]") for name in names}
        self.addCleanup(lambda: [run.kill() for run in runs.values() if run.poll() is None])

        def stale():
            return {sweep for alert, sweep in server.firing() if alert == "RetortMetricsFileStale"}
        for name in names:  # its second page
            wait_for(lambda name=name: server.values(f'changes(retort_clock_timestamp_seconds{{sweep="{name}"}}[1m]) > 0'),
                     f"pages of {name}", step=0.5)
        wait_for(lambda: not stale(), "silence", step=0.5)
        runs["killed"].send_signal(signal.SIGKILL)
        runs["saved"].send_signal(signal.SIGTERM)
        self.assertEqual([runs[name].wait(60) for name in ("killed", "saved", "finished")], [-signal.SIGKILL, 75, 0])
        wait_for(lambda: stale() == {"killed"}, lambda: f"the killed one alone; {server.firing()}", 2 * WINDOW, 0.5)
        still = f'changes(retort_clock_timestamp_seconds[{WINDOW}s]) == 0'
        wait_for(lambda: len(server.values(still) or []) == len(names), "files that nobody writes", 2 * WINDOW, 0.5)
        wait_for(lambda: {sweep for _, sweep in server.firing()} == {"killed"}, lambda: f"silence; {server.firing()}",
                 step=0.5)
        self.assertEqual({alert for alert, _ in server.firing()} - {"RetortNoSuccess"}, {"RetortMetricsFileStale"})


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    need("prometheus")
    sys.exit(0 if all_tests_pass(at_once=2) else 1)
