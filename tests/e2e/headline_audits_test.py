"""Every headline row is attacked through its teacher and its student: the sweeps of experiments/configs/headline_audits.txt
are run and audited, LiRA and RMIA with the shadows that the list names. Takes an hour or more on two cores.

    python headline_audits_test.py --retort RETORT --source DIR [--profile smoke] [--shadows N]

Each trial that has a network must have the findings of its attacks, with what they would have found; none may contradict
what is proven. With --profile smoke nothing is learnt: that run checks this program.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

ATTACKS = ["loss threshold", "offline LiRA", "LiRA", "RMIA"]


def read_list(source):
    with open(os.path.join(source, "experiments/configs/headline_audits.txt"), encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return [(os.path.join(source, "experiments/configs", path), int(shadows)) for path, shadows in lines]


def call(retort, words):
    done = subprocess.run([retort] + words, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"FAILED: retort {' '.join(words)}: exit code {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def check_trial(trial, problems):
    findings = [finding for finding in trial["findings"] if finding["kind"] == "membership"]
    ran = [finding for finding in findings if finding["ran"]]
    if not ran and "ensemble" in findings[0]["note"]:
        return
    names = [finding["subject"].split(" with ")[0].split(",")[0] for finding in ran]
    if names != ATTACKS:
        problems.append(f"{trial['name']}: attacked by {names}")
    for finding in ran:
        if finding["detectable"] is None or finding["needed_accuracy"] is None:
            problems.append(f"{trial['name']}, {finding['subject']}: says not what it would have found")
        curve = finding["curve"]
        if curve["false_positives"][-1] != curve["others"] or curve["true_positives"][-1] != curve["members"]:
            problems.append(f"{trial['name']}, {finding['subject']}: a part of its curve is missing")
        figures = {figure["name"]: figure["value"] for figure in finding["figures"]}
        print(f"{trial['name']}: {finding['subject'].split(',')[0]}: lower bound {finding['claim']['lower']:.3f}, proven "
              f"{finding['proven']}, formula {finding['formula']}, AUC {figures['auc']:.3f}, TPR at FPR 0.01 "
              f"{figures['tpr_at_fpr_0.01']:.3f} [{figures['tpr_at_fpr_0.01.low']:.3f} to "
              f"{figures['tpr_at_fpr_0.01.high']:.3f}], detects {finding['detectable']:.3f}, needs "
              f"{finding['needed_accuracy']:.3f} right")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--retort", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--profile", default="")
    parser.add_argument("--shadows", type=int, default=0)
    arguments = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (sweep, shadows) in enumerate(read_list(arguments.source)):
            results = ["--results", os.path.join(folder, str(number))]
            if arguments.profile:
                results += ["--profile", arguments.profile]
            call(arguments.retort, ["run", sweep, "--quiet"] + results)
            words = ["--kind", "membership", "--shadows", str(arguments.shadows or shadows), "--json"]
            planned = json.loads(call(arguments.retort, ["audit", sweep, "--plan"] + words + results))
            if planned["cost"]["seconds"] is None or planned["cost"]["unknown"] != 0:
                problems.append(f"{sweep}: nobody says what its audit takes: {planned['cost']}")
            audits = json.loads(call(arguments.retort, ["audit", sweep] + words + results))
            if not audits["ok"] or audits["left_out"]:
                problems.append(f"{sweep}: refuted, or left out: {audits['left_out']}")
            for trial in audits["audits"]:
                check_trial(trial, problems)
    for problem in problems:
        print("FAILED:", problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
