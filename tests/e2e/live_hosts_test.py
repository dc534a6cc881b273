#!/usr/bin/env python3
"""Hostfiles name hosts and numbers of slots: what is neither ends live-hosts.sh, and is no command, option or path.

usage: live_hosts_test.py --source DIR
"""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import all_tests_pass, parse_options  # noqa: E402

OPTIONS = None


class LiveHosts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = folder.name

    def ask(self, *words):
        return subprocess.run([os.path.join(OPTIONS.source, "cluster/launch/live-hosts.sh"), *words], cwd=self.place, timeout=60,
                              capture_output=True, text=True, env={**os.environ, "RETORT_LAUNCH_AGENT": "true"})

    def in_a_file(self, line):
        with open(os.path.join(self.place, "hosts"), "w", encoding="utf-8") as file:
            file.write(line + "\n")
        return self.ask("--hostfile", "hosts")

    def test_hosts_and_their_slots_are_written(self):
        for done in (self.ask("--host", "localhost:2,user@node-1.example:08"), self.in_a_file("localhost slots=2\nuser@node-1.example slots=8")):
            self.assertEqual((done.returncode, done.stdout), (0, "localhost slots=2\nuser@node-1.example slots=8\n"), done.stderr)

    def test_anything_else_is_refused_and_not_run(self):
        for host, slots in (("localhost", "order[$(touch${IFS}made)]"), ("localhost", "slots[$(touch${IFS}made)]"), ("localhost", "-1"),
                            ("localhost", "99999999999999999999"), ("-oProxyCommand=touch${IFS}made", "1"), ("../made", "1"),
                            ("a[$(touch${IFS}made)]", "1")):
            for done in (self.ask("--host", f"{host}:{slots}"), self.in_a_file(f"{host} slots={slots}")):
                self.assertEqual((done.returncode, done.stdout), (2, ""), (host, slots, done.stderr))
            self.assertFalse(os.path.exists(os.path.join(self.place, "made")), (host, slots))


if __name__ == "__main__":
    OPTIONS = parse_options("source")
    sys.exit(0 if all_tests_pass() else 1)
