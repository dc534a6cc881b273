"""The tables of the pages that rows in experiments/results/ give: what stands between `<!-- rows: SWEEP TABLE -->` and
`<!-- end of rows -->` is what `retort table` makes of experiments/results/SWEEP.rows, and nothing is typed. Profiles behind
TABLE add the rows of SWEEP-PROFILE.rows. So is what stands between `<!-- membership: SWEEP -->` and its end: what its trials' audits of membership found.

usage: results_tables.py --root DIR --retort PROGRAM [--write] [PAGE…]     no PAGE: experiments/RESULTS.md
Exits 1 where a table differs from its rows, where an archive does not verify, and where one stands on no page; --write
mends the tables.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"<!-- (?P<kind>rows: (?P<sweep>\S+) (?P<table>\S+)(?P<profiles>(?: [\w-]+)*)|membership: (?P<audited>\S+)) -->\n(?P<text>.*?)"
                   r"<!-- end of rows -->\n", re.DOTALL)
ATTACKS = ("loss threshold", "offline LiRA", "LiRA", "RMIA")
PAGES = ("experiments/RESULTS.md",)


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"{' '.join(command[1:])}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def format_value(cell):
    if cell is None:
        return "–"
    value = f"{100 * cell['mean']:.2f}"
    return value if cell["sd"] is None else f"{value} ± {100 * cell['sd']:.2f}"


def proven_epsilon(claims):
    """The proven ε for adding or removing an example, None without one."""
    found = [claim["epsilon"] for claim in claims if claim["adjacency"] == "example"
             and claim["neighbour"] == "add-remove" and claim["status"] == "proven"]
    return found[0] if found else None


def make_table(documents):
    """Lines of Markdown: a row for each of the tables' rows, and for each teacher's network; a column for each ε that is
    proven for adding or removing an example, or the one column of a table in which none is."""
    rows = {}
    for teacher in (teacher for document in documents for teacher in document["teachers"]):
        if teacher["mean"] is None:
            continue
        label = f"teacher: `{teacher['method']}`, `{teacher['network']}`"
        rows.setdefault(label, {})[proven_epsilon(teacher["claims"])] = teacher
    for cell in (cell for document in documents for cell in document["cells"]):
        if cell["mean"] is None:
            continue
        words = [f"`{value}`" for key, value in cell["row"].items() if value and key != "side_information"]
        rows.setdefault(", ".join(words), {})[proven_epsilon(cell["claims"])] = cell
    columns = sorted({epsilon for row in rows.values() for epsilon in row if epsilon is not None})
    if columns and any(None in row for row in rows.values()):
        raise ValueError(f"table {documents[0]['table']}: a row has no proven ε for adding or removing an example, and others have")
    seeds = sorted({cell["n"] for row in rows.values() for cell in row.values()})
    columns = columns or [None]
    yield f"| test accuracy, %; seeds: {' or '.join(str(n) for n in seeds)} | " + " | ".join(
        "no proven ε" if epsilon is None else f"ε ≤ {epsilon:g}" for epsilon in columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for label, row in rows.items():
        yield f"| {label} | " + " | ".join(format_value(row.get(epsilon)) for epsilon in columns) + " |"


def archive_path(root, sweep):
    return os.path.join(root, "experiments/results", sweep + ".rows")


def archive_names(sweep, profiles):
    return [sweep, *(f"{sweep}-{profile}" for profile in profiles)]


def table_text(root, retort, sweep, table, profiles):
    config = os.path.join(root, "experiments/configs", sweep + ".toml")
    documents = []
    for profile, name in zip([None, *profiles], archive_names(sweep, profiles)):
        chosen = ["--profile", profile] if profile else []
        documents.append(json.loads(call(retort, "table", config, table, *chosen, "--from", archive_path(root, name), "--json")))
    return "\n".join(make_table(documents)) + "\n"


def describe_claims(claims):
    """The proven ε for replacing an example, and a paper's formula where there is one."""
    found = [claim for claim in claims if claim["adjacency"] == "example" and claim["neighbour"] == "replace"]
    proven = [claim["epsilon"] for claim in found if claim["status"] == "proven"]
    formula = [claim["epsilon"] for claim in found if claim["status"] == "paper-formula"]
    text = f"{proven[0]:,.3f}" if proven else "∞"
    return text + (f"; formula {formula[0]:,.3f}" if formula else "")


def make_membership_row(trial):
    """The cells of one audited trial, with an attack's bound in the order of ATTACKS; None where no attack ran."""
    findings = {}
    for finding in (trial["audit"] or {"findings": []})["findings"]:
        attack = next((name for name in ATTACKS if finding["subject"].startswith(name)), None)
        if finding["kind"] == "membership" and finding["ran"] and attack:
            findings[attack] = finding
    if not findings:
        return None
    if len(findings) != len(ATTACKS):
        raise ValueError(f"{trial['name']} was attacked by {', '.join(findings)} alone")
    figures = {figure["name"]: figure["value"] for figure in findings["RMIA"]["figures"]}
    found = [100 * figures["tpr_at_fpr_0.001" + end] for end in ("", ".low", ".high")]
    name = trial["spec"]["name"].removesuffix(f"-{trial['spec']['data']['name']}-s{trial['spec']['seed']}")
    return [f"`{name}`", f"{100 * trial['metrics']['test.accuracy']:.1f} %", describe_claims(trial["claims"]),
            *(f"ε ≥ {math.floor(100 * findings[attack]['claim']['lower']) / 100:.2f}" for attack in ATTACKS), f"{figures['auc']:.2f}",
            f"{found[0]:.1f} % ({found[1]:.1f} to {found[2]:.1f})"]


def membership_text(root, retort, sweep):
    heads = ["attacked", "test accuracy", "proven ε (replaced example)", "loss", *ATTACKS[1:], "AUC of RMIA",
             "RMIA finds at a false positive rate of 0.001"]
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results")
        call(retort, "import", archive_path(root, sweep), "--results", results)
        trials = json.loads(call(retort, "list", "--results", results, "--json"))["trials"]
        shown = [json.loads(call(retort, "show", trial["name"], "--results", results, "--json")) for trial in trials]
    rows = [row for row in map(make_membership_row, shown) if row]
    if not rows:
        raise ValueError("no trial has an audit of membership")
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("|" + "|".join(cell if cell == "---" else f" {cell} " for cell in line) + "|\n" for line in lines)


def check_page(options, page, shown, problems):
    """Adds the sweeps whose rows the page shows to `shown`, and what is wrong to `problems`; with --write mends its tables."""
    path = os.path.join(options.root, page)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    mended = text
    for block in BLOCK.finditer(text):
        sweep = block["sweep"] or block["audited"]
        profiles = (block["profiles"] or "").split()
        shown.update(archive_names(sweep, profiles))
        try:
            if block["audited"]:
                made = membership_text(options.root, options.retort, sweep)
            else:
                made = table_text(options.root, options.retort, sweep, block["table"], profiles)
        except ValueError as error:
            problems.append(f"{page}: rows of {sweep}: {error}")
            continue
        if block["text"] == made:
            continue
        if not options.write:
            problems.append(f"{page}: the table of {sweep} is not what its rows give:\n{made}")
        mended = mended.replace(block[0], f"<!-- {block['kind']} -->\n{made}<!-- end of rows -->\n")
    if options.write and mended != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(mended)


def list_archives(root):
    folder = os.path.join(root, "experiments/results")
    for parent, _, files in os.walk(folder):
        for name in files:
            if name.endswith(".rows"):
                yield os.path.relpath(os.path.join(parent, name), folder).removesuffix(".rows")


def verify(root, retort, sweep):
    """The archive becomes a results folder whose digests and claims hold."""
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results")
        call(retort, "import", archive_path(root, sweep), "--results", results)
        call(retort, "verify", "--results", results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True)
    parser.add_argument("--retort", required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("pages", nargs="*", default=PAGES)
    options = parser.parse_args()
    problems, shown = [], set()
    for page in options.pages:
        check_page(options, page, shown, problems)
    for sweep in list_archives(options.root):
        if sweep not in shown:
            problems.append(f"experiments/results/{sweep}.rows is on no page")
            continue
        try:
            verify(options.root, options.retort, sweep)
        except ValueError as error:
            problems.append(f"experiments/results/{sweep}.rows: {error}")
    for problem in problems:
        print("FAILED:", problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
