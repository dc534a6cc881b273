"""The PromQL that monitoring/ holds, and the names in it."""
import glob
import json
import os
import re
import subprocess
import sys

# Of the panels that only GPUs with DCGM's exporter fill.
FOREIGN = "DCGM_FI_"


def need(program):
    """Ends the test as skipped where a program is missing."""
    for folder in os.environ["PATH"].split(os.pathsep):
        if os.access(os.path.join(folder, program), os.X_OK):
            return
    print(f"SKIPPED: {program} is not installed (bash cluster/setup.sh --tests)")
    sys.exit(77)


def dashboards(source):
    """Documents by file name."""
    found = {}
    for path in sorted(glob.glob(os.path.join(source, "monitoring/dashboards/*.json"))):
        with open(path, encoding="utf-8") as file:
            found[os.path.basename(path)] = json.load(file)
    return found


def panel_expressions(board, instance=".+"):
    """(panel title, expression) with the variables of the dashboard replaced by what matches everything, or one instance."""
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield panel["title"], re.sub(r"\$(job|sweep)\b", ".+", target["expr"]).replace(
                "$instance", instance).replace("$__rate_interval", "1m")


def rules(source):
    """(kind, name, expression) of the rule files; they are plain enough to be read line by line."""
    for path in sorted(glob.glob(os.path.join(source, "monitoring/rules/*.yml"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for kind, name, expression in re.findall(r"- (alert|record): (\S+)\n\s+expr: (?:>-\n\s+)?(.+)\n", text):
            yield kind, name, expression


def families_in(expression):
    return set(re.findall(r"\bretort_\w+", expression))


def catalogue(retort):
    """Families by name, from the binary."""
    said = subprocess.run([retort, "metrics", "--json"], check=True, capture_output=True, text=True).stdout
    return {family["name"]: family for family in json.loads(said)["metrics"]}


def family_of(name, known):
    """The family that a series name belongs to; histograms have three endings."""
    for ending in ("", "_bucket", "_sum", "_count"):
        if ending and not name.endswith(ending):
            continue
        stem = name[:len(name) - len(ending)] if ending else name
        if stem in known and (not ending or known[stem]["type"] == "histogram"):
            return stem
    return None
