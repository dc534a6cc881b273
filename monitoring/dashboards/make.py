#!/usr/bin/env python3
"""Writes the Grafana dashboards of this folder. What a panel shows, in which unit and why, stands here once.

usage: make.py [--check]     --check: changes nothing, exits 1 when a file differs from what would be written
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ON = '{job=~"$job", sweep=~"$sweep", instance=~"$instance"}'


def on(labels):
    return ON[:-1] + ", " + labels + "}"


def rate(metric, labels=""):
    return f"rate({metric}{on(labels) if labels else ON}[$__rate_interval])"


def summed(by, expression):
    return f"sum by ({by}) ({expression})"


def moment(metric):
    """For Grafana, in milliseconds; what has not happened yet is 0 and left out."""
    return f"({metric}{ON} > 0) * 1000"


# Title, what it tells, unit, kind, queries as (expression, legend), width of 24.
OVERVIEW = [
    ("Trials by state", "How many trials are where; failed and parent-failed ones need a look.", "short", "timeseries",
     [(summed("state", "retort_trials" + ON), "{{state}}")], 12),
    ("Part done", "Trials that have ended, of all that are planned.", "percentunit", "gauge",
     [("sweep:retort_trials_done:ratio" + ON[:1] + 'sweep=~"$sweep", instance=~"$instance"}', "{{sweep}}")], 4),
    ("Expected end", "When the last trial is expected to end; nothing while the cost of a trial is unknown.",
     "dateTimeFromNow", "stat", [("retort_expected_end_timestamp_seconds" + ON + " * 1000", "{{sweep}}")], 4),
    ("Last success", "When a trial last succeeded; nothing before the first.", "dateTimeFromNow", "stat",
     [(moment("retort_last_success_timestamp_seconds"), "{{sweep}}")], 4),
    ("Last end of a trial", "When a trial last ended for good, well or badly; nothing before the first.", "dateTimeFromNow", "stat",
     [(moment("retort_last_trial_end_timestamp_seconds"), "{{sweep}}")], 4),
    ("Trials left", "Trials that have not ended: what alerts call left.", "short", "stat",
     [('sweep:retort_trials_left:sum{sweep=~"$sweep", instance=~"$instance"}', "{{sweep}}")], 4),
    ("Steps", "Training steps a second over all gangs.", "ops", "timeseries",
     [(summed("sweep", rate("retort_steps_total")), "{{sweep}}")], 8),
    ("Synthetic samples released", "Samples whose annotations left a teacher, a second.", "ops", "timeseries",
     [(summed("sweep", rate("retort_samples_total")), "{{sweep}}")], 8),
    ("Attempts", "Attempts begun, and begun anew after a failure.", "ops", "timeseries",
     [(summed("sweep", rate("retort_attempts_total")), "begun {{sweep}}"),
      (summed("sweep", rate("retort_retries_total")), "retried {{sweep}}")], 8),
    ("Build", "Version and commit of each orchestrator.", "short", "table", [("retort_build_info" + ON, "")], 12),
    ("Up since", "When each orchestrator started, and for how long it has been up.", "dateTimeAsIso", "stat",
     [("retort_start_timestamp_seconds" + ON + " * 1000", "{{sweep}}")], 6),
    ("Uptime", "How long each orchestrator has been up.", "s", "stat", [("retort_uptime_seconds" + ON, "{{sweep}}")], 6),
]
# Both times are in the clock of the orchestrator.
SILENCE = ("retort_clock_timestamp_seconds" + ON + " - on (job, sweep, instance) group_right () "
           "retort_seat_progress_timestamp_seconds" + ON)
GANGS = [
    ("Progress by seat", "Part of its steps that each gang has made; the seat is that of its leader.", "percentunit",
     "timeseries", [("retort_seat_progress_ratio" + ON, "rank {{rank}} slot {{slot}}")], 12),
    ("Silence by seat", "Time since each gang last got on; its watchdog ends it at the dashed deadline.", "s",
     "timeseries", [(SILENCE, "rank {{rank}} slot {{slot}}"),
                    ("retort_seat_deadline_seconds" + ON, "deadline {{rank}}/{{slot}}")], 12),
    ("Gangs", "Gangs that train now.", "short", "timeseries", [("retort_gangs" + ON, "{{sweep}}")], 8),
    ("Time of a step", "Quantiles of the time of a training step.", "s", "timeseries",
     [(f"histogram_quantile({q}, {summed('le, sweep', rate('retort_step_duration_seconds_bucket'))})",
       f"{q:g} " + "{{sweep}}") for q in (0.5, 0.9, 0.99)], 8),
    ("Mean time of a step", "Sum of step times over their number.", "s", "timeseries",
     [(summed("sweep", rate("retort_step_duration_seconds_sum")) + " / " +
       summed("sweep", rate("retort_step_duration_seconds_count")), "{{sweep}}")], 8),
    ("Workers by state", "Worker processes; dead ones are those of agents that are gone.", "short", "timeseries",
     [(summed("state", "retort_workers" + ON), "{{state}}")], 12),
    ("Workers started", "Worker processes that came up, a second: a steady rate means that they keep dying.", "ops",
     "timeseries", [(summed("sweep", rate("retort_worker_spawns_total")), "{{sweep}}")], 12),
]
PRIVACY = [
    ("Epsilon spent", "Total over all trials of a data set, under the claim named; absent points are unbounded.", "none",
     "timeseries", [("retort_epsilon_spent" + ON, "{{dataset}} ({{claim}})")], 12),
    ("Part of the budget", "Spent over the budget of the data set; at 1 nothing more is released.", "percentunit",
     "timeseries", [('dataset:retort_epsilon:ratio{sweep=~"$sweep", instance=~"$instance"}', "{{dataset}}")], 12),
    ("Budget", "Cap on the total epsilon of each data set, where the sweep sets one.", "none", "stat",
     [("retort_epsilon_budget" + ON, "{{dataset}}")], 6),
    ("Delta", "At which the epsilon spent on each data set is stated.", "sci", "stat",
     [("retort_epsilon_delta" + ON, "{{dataset}}")], 6),
    ("Releases", "Granted by the ledger, a second: answers of a teacher, or steps of private training.", "ops", "timeseries",
     [(summed("dataset", rate("retort_releases_total")), "{{dataset}}")], 6),
    ("Reservations refused", "Attempts that ended because the budget refused them.", "ops", "timeseries",
     [(summed("sweep", rate("retort_failures_total", 'kind="budget_refused"')), "{{sweep}}")], 6),
    ("Ledger records", "Reservations and settlements written, a second.", "ops", "timeseries",
     [(summed("sweep", rate("retort_ledger_appends_total")), "{{sweep}}")], 12),
    ("Ledger", "Size of ledger.log.", "bytes", "timeseries", [("retort_ledger_bytes" + ON, "{{sweep}}")], 12),
]


def by_seat(metric):
    """Of DCGM, at every seat on its GPU: seats and sweeps may share one, and so may instances of it."""
    seats = 'label_replace(retort_worker_info' + on('gpu_uuid!=""') + ', "UUID", "$1", "gpu_uuid", "(.+)")'
    return f"{seats} * on (UUID) group_left () max by (UUID) ({metric})"


OF_SEAT = "{{sweep}} rank {{rank}} slot {{slot}}"
DEVICES = [
    ("Devices by state", "Idle ones while trials are queued are lost time; drained ones get no more work.", "short",
     "timeseries", [(summed("state", "retort_devices" + ON), "{{state}}")], 12),
    ("Agents", "Ranks that answer, beside those that were started.", "short", "timeseries",
     [("retort_agents" + ON, "answer"), ("retort_agents_expected" + ON, "started")], 12),
    ("Places", "Host, device and GPU of each seat: the key to the others.", "short", "table",
     [("retort_worker_info" + ON, "")], 24),
    ("GPU utilisation", "From DCGM, of the GPUs that this sweep uses.", "percent", "timeseries",
     [(by_seat("DCGM_FI_DEV_GPU_UTIL"), OF_SEAT)], 8),
    ("GPU memory", "From DCGM, framebuffer in use.", "mbytes", "timeseries",
     [(by_seat("DCGM_FI_DEV_FB_USED"), OF_SEAT)], 8),
    ("GPU power", "From DCGM.", "watt", "timeseries",
     [(by_seat("DCGM_FI_DEV_POWER_USAGE"), OF_SEAT)], 8),
    ("Power of trials", "Of the GPUs of attempts that succeeded: their energy, as NVML counts it, a second; nothing on CPUs.",
     "watt", "timeseries", [(rate("retort_energy_joules_total"), "{{sweep}} {{host}}")], 12),
    ("Busy fraction", "Of the time of attempts that succeeded, how much their GPUs ran a kernel; nothing on CPUs.", "percentunit",
     "timeseries", [("retort_device_busy_ratio" + ON, "{{sweep}} {{host}}")], 12),
]
FAULTS = [
    ("Failures by kind", "Attempts that ended without a result, a second; kinds in the runbook.", "ops", "timeseries",
     [(summed("kind", rate("retort_failures_total")) + " > 0 or vector(0)", "{{kind}}")], 12),
    ("Retries by kind", "Attempts whose trial was queued again, a second.", "ops", "timeseries",
     [(summed("kind", rate("retort_retries_total")) + " > 0 or vector(0)", "{{kind}}")], 12),
    ("Failures over attempts", "15-minute rates as the alert sees them, without those that were stopped, refused or crowded.",
     "percentunit", "timeseries",
     [('sweep:retort_failures:rate15m{sweep=~"$sweep", instance=~"$instance"} / '
       'sweep:retort_attempts:rate15m{sweep=~"$sweep", instance=~"$instance"}', "{{sweep}}")], 12),
    ("Free space", "Of the file system that holds the results folder; a quota below it is not seen.", "bytes", "timeseries",
     [("retort_storage_free_bytes" + ON, "{{sweep}}")], 12),
    ("Checkpoints", "Committed, a second.", "ops", "timeseries",
     [(summed("sweep", rate("retort_checkpoints_total")), "{{sweep}}")], 8),
    ("Checkpoint bytes", "Tensors written to checkpoints, a second.", "Bps", "timeseries",
     [(summed("sweep", rate("retort_checkpoint_bytes_total")), "{{sweep}}")], 8),
    ("Time of a checkpoint", "Quantiles of writing and syncing one.", "s", "timeseries",
     [(f"histogram_quantile({q}, {summed('le, sweep', rate('retort_checkpoint_duration_seconds_bucket'))})",
       f"{q:g} " + "{{sweep}}") for q in (0.5, 0.99)], 8),
    ("Journal records", "Events written to the journal, a second.", "ops", "timeseries",
     [(summed("sweep", rate("retort_journal_appends_total")), "{{sweep}}")], 8),
    ("Journal", "Size of journal.log.", "bytes", "timeseries", [("retort_journal_bytes" + ON, "{{sweep}}")], 8),
    ("Messages", "That the orchestrator receives, drops as stale, and cannot read.", "ops", "timeseries",
     [(summed("sweep", rate("retort_messages_received_total")), "received {{sweep}}"),
      (summed("sweep", rate("retort_stale_messages_total")), "stale {{sweep}}"),
      (summed("sweep", rate("retort_malformed_messages_total")), "malformed {{sweep}}")], 24),
]
BOARDS = {"overview": ("Retort: sweeps", OVERVIEW), "gangs": ("Retort: trials and gangs", GANGS),
          "privacy": ("Retort: privacy budget", PRIVACY), "devices": ("Retort: devices", DEVICES),
          "faults": ("Retort: storage and faults", FAULTS)}


def panel(number, x, y, title, about, unit, kind, queries, width):
    source = {"type": "prometheus", "uid": "${datasource}"}
    targets = [{"datasource": source, "expr": expression, "legendFormat": legend, "refId": chr(ord("A") + i),
                **({"format": "table", "instant": True} if kind == "table" else {})}
               for i, (expression, legend) in enumerate(queries)]
    return {"id": number, "type": kind, "title": title, "description": about, "datasource": source,
            "gridPos": {"h": 8, "w": width, "x": x, "y": y},
            "fieldConfig": {"defaults": {"unit": unit}, "overrides": []}, "targets": targets}


def panels(rows):
    placed, x, y = [], 0, 0
    for number, row in enumerate(rows, 1):
        if x + row[-1] > 24:
            x, y = 0, y + 8
        placed.append(panel(number, x, y, *row))
        x += row[-1]
    return placed


def variable(name, label):
    return {"name": label, "label": label, "type": "query", "refresh": 2, "multi": True, "includeAll": True,
            "allValue": ".+", "datasource": {"type": "prometheus", "uid": "${datasource}"},
            "query": f"label_values(retort_build_info, {name})", "current": {"text": "All", "value": "$__all"}}


def board(key):
    title, rows = BOARDS[key]
    links = [{"title": BOARDS[other][0], "type": "link", "url": f"/d/retort-{other}", "keepTime": True,
              "includeVars": True} for other in BOARDS if other != key]
    return {"uid": f"retort-{key}", "title": title, "schemaVersion": 39, "version": 1, "editable": False,
            "tags": ["retort"], "refresh": "15s", "time": {"from": "now-3h", "to": "now"}, "timezone": "browser",
            "links": links, "panels": panels(rows), "annotations": {"list": []},
            "templating": {"list": [
                {"name": "datasource", "label": "datasource", "type": "datasource", "query": "prometheus", "refresh": 1},
                variable("job", "job"), variable("sweep", "sweep"), variable("instance", "instance")]}}


def main():
    differ = []
    for key in BOARDS:
        path = os.path.join(HERE, key + ".json")
        text = json.dumps(board(key), indent=1) + "\n"
        if "--check" not in sys.argv:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        elif not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
            differ.append(path)
    for path in differ:
        print(f"{path} is not what make.py writes")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
