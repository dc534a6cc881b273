#!/usr/bin/env python3
"""What the expressions of single panels answer, taken from the dashboards: promtool evaluates them on series that no test
machine has (GPUs with DCGM's exporter), or not at that moment."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from expressions import dashboards, need, panel_expressions
from sweep_run import all_tests_pass, parse_options

OF_RUN = 'sweep="s", instance="i:1", job="retort"'
OF_OTHER = 'sweep="t", instance="i:2", job="retort"'
OF_FILE = 'sweep="s", instance="n:9100", job="node"'
DCGM = 'instance="i:9400", job="dcgm", gpu="0"'


def info(of, rank, slot, uuid):
    return f'retort_worker_info{{{of}, rank="{rank}", slot="{slot}", host="h", device="cuda:0", gpu_uuid="{uuid}"}}'


def at_seat(of, rank, slot, uuid):
    return info(of, rank, slot, uuid).removeprefix("retort_worker_info").replace("}", f', UUID="{uuid}"}}')


def test_of(expression, series, samples):
    """As promtool reads it; its YAML takes JSON."""
    return {"interval": "30s", "input_series": [{"series": name, "values": f"{value}x20"} for name, value in series.items()],
            "promql_expr_test": [{"expr": expression, "eval_time": "5m", "exp_samples": [
                {"labels": labels, "value": value} for labels, value in samples.items()]}]}


class Panels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.panels = {}
        for board in dashboards(OPTIONS.source).values():
            for title, expression in panel_expressions(board):
                cls.panels.setdefault(title, expression)

    def promtool(self, title, series, samples):
        document = {"rule_files": [], "evaluation_interval": "30s",
                    "tests": [test_of(self.panels[title], series, samples)]}
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump(document, file)
            file.flush()
            done = subprocess.run(["promtool", "test", "rules", file.name], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def shows(self, title, series, samples):
        code, said = self.promtool(title, series, samples)
        self.assertEqual(code, 0, said)

    def test_a_wrong_answer_is_seen(self):
        series = {f"retort_last_success_timestamp_seconds{{{OF_RUN}}}": 7}
        self.shows("Last success", series, {f"{{{OF_RUN}}}": 7000})
        self.assertNotEqual(self.promtool("Last success", series, {f"{{{OF_RUN}}}": 7001})[0], 0)

    def test_a_gpu_of_one_seat(self):
        self.shows("GPU utilisation", {info(OF_RUN, 0, 0, "GPU-a"): 1, info(OF_RUN, 0, 1, ""): 1,
                                       f'DCGM_FI_DEV_GPU_UTIL{{{DCGM}, UUID="GPU-a"}}': 40,
                                       f'DCGM_FI_DEV_GPU_UTIL{{{DCGM}, UUID="GPU-of-others"}}': 90},
                   {at_seat(OF_RUN, 0, 0, "GPU-a"): 40})

    def test_a_gpu_of_two_seats_and_two_sweeps(self):
        seats = [(OF_RUN, 0, 0), (OF_RUN, 0, 1), (OF_OTHER, 1, 0)]
        for title, metric in (("GPU utilisation", "DCGM_FI_DEV_GPU_UTIL"), ("GPU memory", "DCGM_FI_DEV_FB_USED"),
                              ("GPU power", "DCGM_FI_DEV_POWER_USAGE")):
            self.shows(title, {**{info(*seat, "GPU-a"): 1 for seat in seats}, f'{metric}{{{DCGM}, UUID="GPU-a"}}': 40},
                       {at_seat(*seat, "GPU-a"): 40 for seat in seats})

    def test_a_gpu_that_is_cut_or_scraped_twice_is_one(self):
        self.shows("GPU memory", {info(OF_RUN, 0, 0, "GPU-a"): 1,
                                  f'DCGM_FI_DEV_FB_USED{{{DCGM}, UUID="GPU-a", GPU_I_ID="1"}}': 100,
                                  f'DCGM_FI_DEV_FB_USED{{{DCGM}, UUID="GPU-a", GPU_I_ID="2"}}': 300},
                   {at_seat(OF_RUN, 0, 0, "GPU-a"): 300})

    def test_memory_is_in_the_unit_of_dcgm(self):
        [unit] = [panel["fieldConfig"]["defaults"]["unit"] for panel in dashboards(OPTIONS.source)["devices.json"]["panels"]
                  if panel["title"] == "GPU memory"]
        self.assertEqual(unit, "mbytes")     # Grafana's name of MiB

    def test_silence_is_told_by_the_orchestrators_clock(self):
        for of in (OF_RUN, OF_FILE):
            seat = of + ', rank="1", slot="2"'
            for clock in (1000, 1900, 100):  # promtool asks at 300
                self.shows("Silence by seat", {f"retort_clock_timestamp_seconds{{{of}}}": clock,
                                               f"retort_seat_progress_timestamp_seconds{{{seat}}}": clock - 40},
                           {f"{{{seat}}}": 40})

    def test_what_has_not_happened_is_left_out(self):
        for title, metric in (("Last success", "retort_last_success_timestamp_seconds"),
                              ("Last end of a trial", "retort_last_trial_end_timestamp_seconds")):
            self.shows(title, {f"{metric}{{{OF_RUN}}}": 0, f"{metric}{{{OF_OTHER}}}": 1.5e9}, {f"{{{OF_OTHER}}}": 1.5e12})


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    need("promtool")
    sys.exit(0 if all_tests_pass() else 1)
