#!/usr/bin/env bash
# `retort plot`: figures of a small sweep before, while half of it is there, and after it ran; every kind, both formats.
#   plot_test.sh RETORT SOURCE_DIR
set -u
retort="$1"
source_dir="$2"
. "$(dirname "$0")/expect.sh"
here="$(cd "$(dirname "$0")" && pwd)"
cd "$scratch" || exit 1

digits_sweep sweep.toml "0, 64" "" "64, 96" <<'TOML'
[teacher]
single = { network = "logistic", epochs = 1 }
[trial]
data = "digits"
teacher = "single"
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
grid.sigma = [50, 100, 200]
grid.reading = ["working", "printed"]
[figure.noise]
x = "sigma"
log_x = true
teachers = true
title = "Noise <scale> & accuracy"
[figure.readings]
kind = "bar"
x = "reading"
[figure.loss]
kind = "curve"
y = "train.student_loss"
panels = "reading"
[figure.time]
kind = "bar"
x = "reading"
y = "step_seconds"
panels = "sigma"
[figure.seen]
kind = "samples"
x = "sigma"
count = 9
[figure.near]
kind = "map"
x = "sigma"
count = 20
[profile.smoke.sweep]
seeds = [0]
TOML

# Every file is what its name says: XML that is well-formed, with text for those who cannot see it, or a whole PNG.
well_formed() { run python3 "$here/plot_files.py" "$@"; expect_code 0; }

case_name="a figure whose x is no axis is an error of the plan, at its line"
sed 's/x = "sigma"$/x = "steps"/' sweep.toml >wrong.toml
run "$retort" plan wrong.toml
expect_code 2
expect_err "wrong.toml:"
expect_err '"steps" is no axis of this sweep'

case_name="nothing measured: no empty frame, but what to run"
run "$retort" plot sweep.toml
expect_code 1
expect_silent_out
expect_err "there is nothing to draw for noise"
expect_err "retort run sweep.toml"
expect_no_file results/small/figures/noise.svg

case_name="an unknown figure names the nearest"
run "$retort" plot sweep.toml niose
expect_code 2
expect_err "has no [figure.niose]; it has noise"
run "$retort" plot sweep.toml --format jpeg
expect_code 2
expect_err "svg"

case_name="half of the sweep: gaps, and a word of them"
run "$retort" run sweep.toml --quiet 'sweep.grid.sigma=[50,200]'
expect_code 0
run "$retort" plot sweep.toml noise --out half
expect_code 0
expect_err "2 of 6 points are missing"
expect_same "$out" "half/noise.svg
half/noise.png"
well_formed half/noise.svg half/noise.png
run grep -c "Missing: 2 of 6" half/noise.svg
expect_same "$out" 1

case_name="the whole sweep: every figure in both formats"
run "$retort" run sweep.toml --quiet
expect_code 0
run "$retort" plot sweep.toml
expect_code 0
expect_same "$(printf '%s\n' "$out" | wc -l)" 12
well_formed results/small/figures/*
run grep -c "<title>Noise &lt;scale&gt; &amp; accuracy</title>" results/small/figures/noise.svg
expect_same "$out" 1
run grep -c "ε = ∞ (example" results/small/figures/noise.svg
[ "$out" -ge 1 ] || complain "the caption does not say that no example is protected"

case_name="the same figure has the same bytes, alone or among others"
run "$retort" plot sweep.toml seen --out again
expect_code 0
run "$retort" plot sweep.toml near --out again
expect_code 0
for file in seen.svg seen.png near.svg near.png; do
  cmp -s again/$file results/small/figures/$file || complain "$file differs"
done

case_name="a map says whose places its points are, and that no epsilon covers it"
run grep -c "20 private (train), 20 test, 4 synthetic; perplexity" results/small/figures/near.svg
[ "$out" -ge 1 ] || complain "the caption does not count the points"
run grep -c "positions of private pictures" results/small/figures/near.svg
expect_same "$out" 1

case_name="without the data set there is no map, and the error names it"
sed 's|^path = .*|path = "nowhere"|' sweep.toml >absent.toml
run "$retort" plot absent.toml near --out absent
expect_code 3
expect_err "nowhere does not exist"
expect_no_file absent/near.svg

case_name="one format only"
run "$retort" plot sweep.toml loss --format svg --out one
expect_code 0
expect_file one/loss.svg
expect_no_file one/loss.png

case_name="a smoke run is marked in the picture"
run "$retort" plot sweep.toml noise --profile smoke --format svg --out smoke
expect_code 0
run grep -c "smoke: a run of a few steps" smoke/noise.svg
expect_same "$out" 1

case_name="--json has the points"
run "$retort" plot sweep.toml --json
expect_code 0
printf '%s' "$out" >points.json
run python3 - <<'PY'
import json
document = json.load(open("points.json", encoding="utf-8"))
assert document["schema_version"] == 1 and document["sweep"] == "small"
figures = {figure["figure"]: figure for figure in document["figures"]}
assert list(figures) == ["noise", "readings", "loss", "time", "seen", "near"], list(figures)
points = figures["noise"]["panels"][0]["series"][0]["points"]
assert [point["x"] for point in points] == [50, 100, 200], points
assert all(point["n"] == 2 and len(point["values"]) == 2 and len(point["trials"]) == 2 for point in points)
assert all(claim["adjacency"] and claim["status"] for point in points for claim in point["claims"])
assert len(figures["loss"]["panels"]) == 2
curve = figures["loss"]["panels"][0]["series"][0]
assert curve["n"] == 2 and [point["x"] for point in curve["points"]] == [0, 1, 2], curve
assert all(sample["images"][1:] == [1, 28, 28] for sample in figures["seen"]["samples"])
for sample in figures["near"]["samples"]:
    groups = {group["label"]: group["points"] for group in sample["map"]["series"]}
    assert [len(points) for points in groups.values()] == [20, 20, 4], groups
    assert sample["map"]["divergence"] >= 0
    assert len({tuple(point) for point in groups["private (train)"]}) == 20
assert all(point["mean"] > 0 for panel in figures["time"]["panels"] for series in panel["series"]
           for point in series["points"])
PY
expect_code 0

case_name="a curve that was not recorded names the nearest"
run "$retort" plot sweep.toml loss figure.loss.y=train.studnet_loss
expect_code 2
expect_err 'did you mean "train.student_loss"?'

case_name="a metric that no row has is said"
run "$retort" plot sweep.toml noise figure.noise.y=test.sensitive_accuracy
expect_code 1
expect_err "no row has the metric test.sensitive_accuracy"

case_name="a metric that does not exist names the nearest"
run "$retort" plot sweep.toml noise figure.noise.y=test.accuarcy
expect_code 2
expect_err 'did you mean "test.accuracy"?'

case_name="published values alone are drawn, and an unknown table names the nearest"
run "$retort" plot sweep.toml noise figure.noise.published=dpdfd-ijcai23/tabel1
expect_code 2
expect_err "nearest: dpdfd-ijcai23/table1"

case_name="without [figure] the first axis of numbers is drawn"
sed '/^\[figure/,$d' sweep.toml >plain.toml
run "$retort" plot plain.toml --out plain
expect_code 0
expect_file plain/small.svg

case_name="verify finds nothing odd in a folder with figures"
run "$retort" verify --results results/small
expect_code 0
case_name="what a smaller plan of the same folder has not is in the figures still"
run "$retort" run sweep.toml --quiet 'sweep.grid.sigma=[50]'
expect_code 0
run "$retort" plot sweep.toml noise --out still
expect_code 0
expect_no_err "missing"
cmp -s still/noise.svg results/small/figures/noise.svg || complain "the figure differs"

finish
