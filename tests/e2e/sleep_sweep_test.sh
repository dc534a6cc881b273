#!/usr/bin/env bash
# Trials that train nothing, by the real worker programs: alone, beside trained ones, stopped and resumed.
#   sleep_sweep_test.sh RETORT SOURCE_DIR
set -u
retort="$1"
source_dir="$2"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1

cat >naps.toml <<'TOML'
retort = 1

[trial]
method = "sleep"
steps = 4

[sweep]
name = "naps"
grid.seconds = [0.01, 0.05]
seeds = [0, 1, 2]
TOML

case_name="a sweep of naps needs no data, no teacher, and no LibTorch"
run "$retort" run naps.toml --slots 2
expect_code 0
expect_no_file results/naps/trials
run "$retort" list
expect_out "6 trials"
run "$retort" show sleep-seconds0.01-s0
expect_out "sleep.steps: 4"
expect_out "nothing was charged"
run "$retort" verify
expect_code 0
first="$("$retort" list --json 2>/dev/null | tr ',' '\n' | grep row_digest | sort)"

case_name="stopped in the middle, then resumed: the same rows"
"$retort" run naps.toml --results results/again 'sweep.grid.seconds=[0.01, 0.05]' --quiet >/dev/null 2>"$scratch/.err" &
running=$!
while [ ! -e results/again/workers ] && kill -0 "$running" 2>/dev/null; do sleep 0.02; done
kill -TERM "$running"
wait "$running"
expect_same $? 75
run "$retort" run naps.toml --results results/again
expect_code 0
expect_same "$("$retort" list --json --results results/again | tr ',' '\n' | grep row_digest | sort)" "$first"

case_name="a time limit saves and stops"
run "$retort" run naps.toml --results results/limited 'sweep.grid.seconds=[2, 3]' trial.checkpoint_every=100ms --time-limit 1500ms --grace 20s
expect_code 75
expect_err "the time limit"
expect_file results/limited/trials
run "$retort" run naps.toml --results results/limited 'sweep.grid.seconds=[2, 3]' trial.checkpoint_every=100ms --time-limit soon
expect_code 2

case_name="a quota ends the run and says so"
run "$retort" run naps.toml --results results/capped --slots 2 'sweep.quota={ trials = 2, concurrency = 1 }'
expect_code 1
expect_err "the quota of 2 trials is used up"
expect_err "raise [sweep] quota"
run "$retort" list --results results/capped --where state=succeeded
expect_out "2 trials"
run "$retort" status --results results/capped
expect_out "the quota of 2 trials is used up: 4 trials are left out"
run "$retort" explain sleep-seconds0.05-s2 --results results/capped
expect_out "the quota of 2 trials is used up"
run "$retort" run naps.toml --results results/capped 'sweep.quota={ trials = 6 }'
expect_code 0
run "$retort" run naps.toml --results results/late 'sweep.grid.seconds=[2, 3]' 'sweep.quota={ wall = "600ms" }'
expect_code 1
expect_err "the quota of 0.6 s wall clock is used up"
expect_file results/late/trials
run "$retort" plan naps.toml 'sweep.quota={ wall = "soon" }'
expect_code 2
expect_err "sweep.quota.wall takes a duration"

case_name="a worker that slept becomes one that trains"
digits_sweep mixed.toml "0, 256" "" "256, 512" <<'TOML'
[trial]
student = "logistic"
threads = 1
batch = 16
steps = 2

[sweep]
name = "mixed"
zip.row = [
  { method = "sleep", seconds = 0.01, priority = 2 },
  { method = "dpsgd", noise_multiplier = 1, norm_bound = 0.1, lr = 1, priority = 1 },
  { method = "sleep", seconds = 0.02 },
]
TOML
run "$retort" run mixed.toml
expect_code 0
run "$retort" list --results results/mixed --where state=succeeded
expect_out "3 trials"
run "$retort" verify --results results/mixed
expect_code 0

case_name="what status says of a large sweep is kept beside its journal, and is no more than that"
sed -e 's/seconds = .*/seconds = [0.001]/' -e "s/seeds = .*/seeds = [$(seq -s, 0 7999)]/" naps.toml >many.toml
run "$retort" run many.toml --results results/many --slots 2 --quiet
expect_code 0
expect_file results/many/summary.json
expect_no_file results/naps/summary.json
run "$retort" status --results results/many
expect_out "Trials: 8000, 8000 succeeded"
told="$out"
mv results/many/summary.json results/many/summary.json.tmp
run "$retort" status --results results/many
expect_same "$out" "$told"
mv results/many/summary.json.tmp results/many/summary.json
run "$retort" run many.toml --results results/many --slots 2 --quiet "sweep.seeds=[$(seq -s, 0 8000)]" 'sweep.quota={ trials = 1 }'
expect_code 1
run "$retort" status --results results/many
expect_out "Trials: 8001, 1 queued, 8000 succeeded"
told="$out"
rm results/many/summary.json
run "$retort" status --results results/many
expect_same "$out" "$told"
expect_file results/many/summary.json

finish
