"""`retort report`: one page that says all of a results folder, harms nobody, and never stands there half written.

usage: report_test.py --retort PROGRAM --source DIR
"""
import base64
import hashlib
import html.parser
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from record_log import JOURNAL, header  # noqa: E402
from sweep_run import parse_options, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None

# Names that would be markup where somebody forgot to escape them.
SWEEP = """
retort = 1
[data."<i>digits"]
reader = "idx"
path = "{source}/experiments/data/mnist10k"
split = {{ shuffle = 1, train = [0, 64], test = [64, 96] }}
[teacher."<script>alert(1)</script>"]
network = "logistic"
epochs = 1
[trial]
data = "<i>digits"
teacher = "<script>alert(1)</script>"
student = "logistic"
noise = "seeded"
threads = 1
steps = 3
batch = 4
student_steps = 1
student_batch = 4
replay = 0
latent = 8
generator_width = 4
[sweep]
name = "small"
seeds = [0, 1]
grid.reading = ["working", "printed"]
[table."<b>t"]
rows = ["method", "reading", "teacher"]
columns = ["data"]
[table.across]
rows = ["teacher"]
columns = ["reading"]
[figure.readings]
kind = "bar"
x = "reading"
title = "Noise <scale> & accuracy"
[figure.loss]
kind = "curve"
y = "train.student_loss"
[figure.seen]
kind = "samples"
x = "reading"
count = 9
"""

NAPS = """
retort = 1
[trial]
method = "sleep"
steps = {steps}
[sweep]
name = "naps"
grid.seconds = [{seconds}]
seeds = [{seeds}]
"""

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
# Attributes by which a page fetches something.
FETCHES = {"src", "srcset", "href", "xlink:href", "action", "formaction", "data", "poster", "background", "ping"}


class Page(html.parser.HTMLParser):
    """The elements of a page; `faults` where it is not well-formed."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.faults, self.text = [], [], [], {}
        self.feed(text)
        self.close()
        self.faults += [f"<{name}> is never closed" for name in self.open]

    def handle_starttag(self, name, attributes):
        names = [key for key, _ in attributes]
        if len(names) != len(set(names)):
            self.faults.append(f"an attribute twice in <{name}> at {self.getpos()}")
        self.elements.append((name, dict(attributes), tuple(self.open)))
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name):
        if not self.open or self.open[-1] != name:
            self.faults.append(f"</{name}> at {self.getpos()} closes {self.open[-1:]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        self.text.setdefault(self.open[-1] if self.open else "", []).append(data)

    def all(self, name):
        return [attributes for tag, attributes, _ in self.elements if tag == name]

    def words(self, *names):
        return "".join("".join(self.text.get(name, [])) for name in names)


def retort(*arguments, **options):
    return subprocess.run([OPTIONS.retort, *arguments], cwd=FOLDER, capture_output=True, text=True, check=False, timeout=120,
                          **options)


def path(*names):
    return os.path.join(FOLDER, *names)


def read(name):
    with open(path(name), encoding="utf-8") as file:
        return file.read()


def digest_of(name):
    with open(path(name), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def write(name, text):
    with open(path(name), "w", encoding="utf-8") as file:
        file.write(text)


def without_time(text):
    return re.sub(r"<time .*?</time>", "<time/>", text)


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """WCAG 2, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        write("sweep.toml", SWEEP.format(source=OPTIONS.source))
        ran = retort("run", "sweep.toml", "--results", "results/small", "--quiet")
        assert ran.returncode == 0, ran.stderr
        made = retort("report", "--results", "results/small")
        assert made.returncode == 0 and made.stdout == "results/small/report.html\n", (made.stdout, made.stderr)
        cls.text = read("results/small/report.html")
        cls.page = Page(cls.text)
        cls.trials = json.loads(retort("list", "--results", "results/small", "--json").stdout)["trials"]

    def test_the_page_is_well_formed(self):
        self.assertEqual(self.page.faults, [])
        self.assertTrue(self.text.startswith("<!doctype html>\n"))
        self.assertEqual([part["lang"] for part in self.page.all("html")], ["en"])
        ids = [attributes["id"] for _, attributes, _ in self.page.elements if "id" in attributes]
        self.assertEqual(len(ids), len(set(ids)))
        links = [link["href"] for link in self.page.all("a")]
        self.assertTrue(links)
        for link in links:
            self.assertIn(link, {"#" + identifier for identifier in ids})

    def test_nothing_is_fetched(self):
        for name, attributes, _ in self.page.elements:
            self.assertNotIn(name, {"link", "iframe", "object", "embed", "base", "form"})
            self.assertFalse([key for key in attributes if key.startswith("on") or key == "style"], name)
            for key in FETCHES & attributes.keys():
                self.assertRegex(attributes[key], r"^(#|data:image/(png|svg\+xml);base64,)")
        self.assertNotIn("://", self.text)
        self.assertNotIn("url(", self.text)
        policy = [meta["content"] for meta in self.page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
        self.assertEqual(len(policy), 1)
        self.assertIn("default-src 'none'", policy[0])
        self.assertNotIn("unsafe", policy[0])
        for image in self.page.all("img"):
            kind, data = image["src"].split(";base64,")
            data = base64.b64decode(data, validate=True)
            if kind == "data:image/svg+xml":
                self.assertEqual(set(re.findall(rb"[a-z]+://[^\"'<> ]+", data)) -
                                 {b"http://www.w3.org/2000/svg", b"http://www.w3.org/1999/xlink"}, set())
            else:
                self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")

    def test_the_policy_lets_only_this_script_through(self):
        policy = next(meta["content"] for meta in self.page.all("meta") if "http-equiv" in meta)
        for tag in ("style", "script"):
            inside = re.findall(f"<{tag}>(.*?)</{tag}>", self.text, re.S)
            self.assertEqual(len(inside), 1, tag)
            digest = base64.b64encode(hashlib.sha256(inside[0].encode()).digest()).decode()
            self.assertIn(f"{tag}-src 'sha256-{digest}'", policy)

    def test_names_are_text(self):
        self.assertEqual(len(self.page.all("script")), 1)
        self.assertEqual(self.page.all("i") + self.page.all("b") + self.page.all("scale"), [])
        self.assertIn("<script>alert(1)</script>", self.page.words("td", "th", "span"))
        self.assertIn("Table <b>t", self.page.words("h3"))
        self.assertTrue(any("Noise <scale> & accuracy" in image["alt"] for image in self.page.all("img")))

    def test_every_trial_is_there_with_a_part_of_its_own(self):
        ids = {attributes.get("id") for _, attributes, _ in self.page.elements}
        self.assertEqual(len(self.trials), 6)
        for trial in self.trials:
            self.assertIn(trial["name"], self.page.text["a"])
            self.assertIn("trial-" + trial["trial"], ids)
            self.assertIn(trial["row_digest"], self.page.words("dd"))

    def test_every_picture_has_words(self):
        images, drawings = self.page.all("img"), self.page.all("svg")
        self.assertGreaterEqual(len(images), 3 + 4)  # figures, and the samples of each student
        self.assertGreaterEqual(len(drawings), 6)
        for image in images:
            self.assertGreater(len(image["alt"].strip()), 20)
        for drawing in drawings:
            self.assertEqual(drawing["role"], "img")
            self.assertGreater(len(drawing["aria-label"].strip()), 20)

    def test_an_epsilon_stands_with_its_conditions(self):
        table = re.search(r"<caption>&lt;b&gt;t: .*?</table>", self.text, re.S).group(0)
        narrow = "<span class=\"below narrow\">example, replace, δ 1e-5</span>"
        self.assertIn(f"<td class=\"wide\">example</td><td class=\"number\">∞{narrow}</td><td class=\"wide\">replace</td>",
                      table)
        self.assertRegex(table, r"no bound <a href=\"#note-1-\d+\">")
        self.assertIn("†", table)
        self.assertIn("seeded", self.text)

    def test_tables_sort_by_buttons_and_scroll_by_keyboard(self):
        buttons = [attributes for name, attributes, inside in self.page.elements if name == "button" and inside[-1] == "th"]
        self.assertEqual(len(buttons), len(self.page.all("button")))
        self.assertGreater(len(buttons), 10)
        sorted_heads = [head for head in self.page.all("th") if "aria-sort" in head]
        self.assertEqual(len(sorted_heads), len(buttons))
        for name, attributes, inside in self.page.elements:
            if name == "table":
                self.assertIn("div", inside)
            if name == "pre":
                self.assertEqual(attributes.get("tabindex"), "0")
            if name == "th":
                self.assertIn(attributes.get("scope"), {"col", "row", "rowgroup"})
        boxes = [box for box in self.page.all("div") if box.get("class") == "box"]
        self.assertEqual(len(boxes), len(self.page.all("table")))
        self.assertTrue(all(box["tabindex"] == "0" and box["role"] == "region" and box["aria-label"] for box in boxes))

    def test_headings_leave_out_no_level(self):
        levels = [int(name[1]) for name, _, _ in self.page.elements if re.fullmatch("h[1-6]", name)]
        self.assertEqual(levels[0], 1)
        self.assertEqual(levels.count(1), 1)
        for before, after in zip(levels, levels[1:]):
            self.assertLessEqual(after, before + 1)

    def test_all_text_has_contrast_in_all_schemes(self):
        style = re.search(r"<style>(.*?)</style>", self.text, re.S).group(1)
        schemes = re.findall(r":root \{(.*?)\}", style, re.S)
        self.assertEqual(len(schemes), 3)
        self.assertIn("@media (prefers-color-scheme: dark)", style)
        self.assertIn("@media print", style)
        pairs = 0
        for scheme in schemes:
            colours = dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", scheme))
            for ink in (name for name in colours if name.startswith("--ink")):
                for paper in (name for name in colours if name.startswith("--paper")):
                    self.assertGreaterEqual(contrast(colours[ink], colours[paper]), 4.5, (scheme, ink, paper))
                    pairs += 1
            for image_paper in ("--paper", "--paper-shade"):
                self.assertGreaterEqual(contrast(colours["--ink-link"], colours[image_paper]), 4.5)
        self.assertEqual(pairs, 3 * 4 * 7)
        # No text and no background but these, apart from the white on which pictures stand.
        rest = style
        for scheme in schemes:
            rest = rest.replace(scheme, "")
        self.assertEqual(set(re.findall(r"#[0-9a-fA-F]{3,8}\b", rest)), {"#ffffff"})
        for value in re.findall(r"[^-\w](?:color|fill): ([^;]+);", rest):
            self.assertRegex(value, r"^(var\(--ink[\w-]*\)|inherit|none|currentColor)$")
        for value in re.findall(r"background: ([^;]+);", rest):
            self.assertRegex(value, r"^(var\(--paper[\w-]*\)|none|#ffffff)$")

    def test_the_contrast_that_is_asked_for_can_be_missed(self):
        self.assertAlmostEqual(contrast("#000000", "#ffffff"), 21)
        self.assertLess(contrast("#777777", "#ffffff"), 4.5)
        self.assertGreater(contrast("#767676", "#ffffff"), 4.5)

    def test_the_commands_of_the_page_work(self):
        commands = [line for text in self.page.text["pre"] for line in text.split("\n") if line.startswith("retort ")]
        self.assertIn("retort report --results results/small --out results/small/report.html", commands)
        asked = [line.split()[1:] for line in commands if re.match("retort (table|verify|show|explain) ", line)]
        self.assertGreater(len(asked), 6)
        for arguments in asked[:4]:
            self.assertEqual(retort(*arguments).returncode, 0, arguments)
        again = next(line for line in commands if line.startswith("retort run") and "-again" not in line)
        planned = retort("plan", *again.split()[2:], "--json")
        self.assertEqual([trial["runs"] for trial in json.loads(planned.stdout)["trials"]], [False] * 6)

    def test_the_same_results_give_the_same_page(self):
        self.assertEqual(retort("report", "--results", "results/small").returncode, 0)
        self.assertEqual(without_time(read("results/small/report.html")), without_time(self.text))

    def test_json_says_what_was_written(self):
        made = retort("report", "--results", "results/small", "--out", "json.html", "--json")
        document = json.loads(made.stdout)
        self.assertEqual((document["schema_version"], document["out"], document["trials"], document["left_out"]),
                         (1, "json.html", 6, 0))
        self.assertEqual(document["bytes"], os.path.getsize(path("json.html")))
        self.assertEqual(document["unreadable"], [])

    def test_a_page_without_its_data_is_the_same(self):
        shutil.copytree(path("results", "small"), path("moved", "small"))
        toml = read("moved/small/sweep.toml").replace(OPTIONS.source, "/nowhere")
        write("moved/small/sweep.toml", toml)
        made = retort("report", "--results", "moved/small", "--out", "moved.html")
        self.assertEqual(made.returncode, 0, made.stderr)
        page = Page(read("moved.html"))
        self.assertEqual(page.faults, [])
        self.assertEqual(len(page.all("img")), len(self.page.all("img")))

    def test_a_damaged_attempt_is_said_beside_the_rest(self):
        shutil.copytree(path("results", "small"), path("damaged", "small"))
        trial = next(name for name in sorted(os.listdir(path("damaged", "small", "trials"))) if "printed" in name)
        file = path("damaged", "small", "trials", trial, "attempt-1", "attempt.h5")
        with open(file, "r+b") as stream:
            stream.seek(3000)
            byte = stream.read(1)
            stream.seek(3000)
            stream.write(bytes([byte[0] ^ 1]))
        made = retort("report", "--results", "damaged/small")
        self.assertEqual(made.returncode, 1)
        self.assertIn("warning: " + trial[:-8], made.stderr)
        text = read("damaged/small/report.html")
        page = Page(text)
        self.assertEqual(page.faults, [])
        self.assertIn(trial, text[text.index('role="alert"'):text.index("<nav")])
        for other in self.trials:
            self.assertIn(other["name"], page.text["a"])
        self.assertLess(len(page.all("svg")), len(self.page.all("svg")))
        self.assertGreater(len(page.all("svg")), 0)
        os.remove(file)
        made = retort("report", "--results", "damaged/small")
        self.assertEqual(made.returncode, 1)
        self.assertEqual(Page(read("damaged/small/report.html")).faults, [])

    def test_a_page_is_replaced_as_a_whole_or_not_at_all(self):
        write("old.html", "<!doctype html>\nold")
        os.link(path("old.html"), path("still-old.html"))
        self.assertEqual(retort("report", "--results", "results/small", "--out", "old.html").returncode, 0)
        self.assertEqual(Page(read("old.html")).faults, [])
        self.assertEqual(read("still-old.html"), "<!doctype html>\nold")

        def no_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        os.rename(path("still-old.html"), path("kept.html"))
        made = retort("report", "--results", "results/small", "--out", "kept.html", preexec_fn=no_room)
        self.assertEqual(made.returncode, 3, made.stderr)
        self.assertEqual(read("kept.html"), "<!doctype html>\nold")
        self.assertFalse(os.path.exists(path("kept.html.tmp")))

    def test_what_is_no_page_is_not_written_over(self):
        for name in ("results/small/journal.log", "sweep.toml"):
            before = digest_of(name)
            made = retort("report", "--results", "results/small", "--out", name)
            self.assertEqual(made.returncode, 2)
            self.assertIn("is no page", made.stderr)
            self.assertEqual(digest_of(name), before)

    def test_a_place_that_cannot_be_written_is_named(self):
        made = retort("report", "--results", "results/small", "--out", "sweep.toml/page.html")
        self.assertEqual(made.returncode, 3)
        self.assertIn("sweep.toml/page.html", made.stderr)
        made = retort("report", "--results", "results/small", "--out", "results/small")
        self.assertIn(made.returncode, (2, 3))

    def test_an_empty_folder_has_no_report(self):
        os.mkdir(path("empty"))
        made = retort("report", "--results", "empty")
        self.assertEqual(made.returncode, 3)
        self.assertIn("holds no sweep", made.stderr)
        self.assertEqual(os.listdir(path("empty")), [])

    def test_a_folder_of_another_format_keeps_its_page(self):
        shutil.copytree(path("results", "small"), path("older", "small"))
        with open(path("older", "small", "journal.log"), "r+b") as stream:
            stream.write(header(JOURNAL, version=99))
        before = read("older/small/report.html")
        made = retort("report", "--results", "older/small")
        self.assertNotEqual(made.returncode, 0)
        self.assertIn("version", made.stderr)
        self.assertEqual(read("older/small/report.html"), before)

    def test_a_running_sweep_has_a_page_of_what_has_ended(self):
        write("naps.toml", NAPS.format(steps=50, seconds="0.05", seeds="0, 1, 2, 3"))
        with subprocess.Popen([OPTIONS.retort, "run", "naps.toml", "--results", "naps/naps", "--quiet"], cwd=FOLDER) as run:
            try:
                wait_for(lambda: "running" in retort("status", "--results", "naps/naps").stdout, "the run begins")
                made = retort("report", "--results", "naps/naps")
                self.assertEqual(made.returncode, 0, made.stderr)
                text = read("naps/naps/report.html")
                self.assertIn("running: this is what has ended so far; 4 trials", text)
                self.assertEqual(Page(text).faults, [])
            finally:
                run.send_signal(signal.SIGTERM)
                run.wait(60)

    def test_of_two_thousand_trials_all_are_named(self):
        write("many.toml", NAPS.format(steps=1, seconds="0.001, 0.002, 0.003, 0.004", seeds=", ".join(map(str, range(500)))))
        ran = retort("run", "many.toml", "--results", "many/many", "--slots", "4", "--quiet")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        began = time.monotonic()
        made = retort("report", "--results", "many/many")
        took = time.monotonic() - began
        self.assertEqual(made.returncode, 0, made.stderr)
        print(f"2,000 trials: {took:.2f} s, {os.path.getsize(path('many/many/report.html'))} bytes")
        self.assertLess(os.path.getsize(path("many/many/report.html")), 20_000_000)
        text = read("many/many/report.html")
        page = Page(text)
        self.assertEqual(page.faults, [])
        names = set(page.text["th"]) | set(page.text["a"])
        for trial in json.loads(retort("list", "--results", "many/many", "--json").stdout)["trials"]:
            self.assertIn(trial["name"], names)
        self.assertIn("1940 of the 2000 trials that have ended, those without a link above", text)
        self.assertIn("retort show TRIAL --results many/many", page.words("code"))


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    OPTIONS.source = os.path.abspath(OPTIONS.source)
    OPTIONS.retort = os.path.abspath(OPTIONS.retort)
    FOLDER = tempfile.mkdtemp(prefix="retort-report-")
    os.environ["XDG_CACHE_HOME"] = path("cache")
    sys.exit(run_tests(FOLDER))
