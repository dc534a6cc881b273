#!/usr/bin/env bash
# What one sweep has cost, the next one knows: plan, status, time limit.
#   cost_test.sh RETORT SOURCE_DIR
set -u
retort="$1"
source_dir="$2"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1

digits_sweep small.toml "0, 256" "" "256, 512" <<'TOML'
[trial]
method = "dpsgd"
student = "logistic"
threads = 1
batch = 16
steps = 20
noise_multiplier = 1
norm_bound = 0.1
lr = 1

[sweep]
name = "small"
seeds = [0, 1]
TOML
one='sweep.seeds=[0]'

case_name="nothing measured, nothing said"
run "$retort" plan small.toml
expect_code 0
expect_out "unknown until the first trials of each kind have run"
expect_out "(2 of 2 to run"

case_name="a run is measured, and a sweep of the same shape in another folder has an ETA"
run "$retort" run small.toml "$one"
expect_code 0
expect_file "$XDG_CACHE_HOME/retort/costs.json"
run "$retort" plan small.toml trial.steps=40 --results results/elsewhere --slots 2
expect_code 0
expect_out "Time: about"
expect_out "on 2 slots"
expect_out "nine times out of ten"
expect_out "device-hours"
expect_out "disk about"
run "$retort" plan small.toml trial.steps=40 --results results/elsewhere --json
expect_out '"device_hours"'

case_name="another shape is not guessed"
run "$retort" plan small.toml trial.batch=32 --results results/elsewhere
expect_out "unknown until the first trials of each kind have run"

case_name="status of a sweep that is not finished"
run "$retort" run small.toml 'sweep.quota={ trials = 1 }' --results results/half
expect_code 1
run "$retort" status --results results/half
expect_out "Time left: about"
run "$retort" status --results results/half --json
expect_out '"eta_seconds": {'

case_name="what cannot reach a checkpoint is not started"
run "$retort" run small.toml trial.steps=10000000 trial.checkpoint_every=1h --results results/late --time-limit 10m
expect_code 75
expect_err "too few for the next checkpoint of any queued trial"
run "$retort" list --results results/late --json
expect_out '"attempts":0'

case_name="a broken cache is left out and said so"
echo '{"retort_costs": 1' >"$XDG_CACHE_HOME/retort/costs.json"
run "$retort" plan small.toml --results results/elsewhere
expect_code 0
expect_err "costs.json is left out of estimates"
expect_out "unknown until the first trials of each kind have run"

finish
