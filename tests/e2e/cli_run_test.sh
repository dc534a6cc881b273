#!/usr/bin/env bash
# A sweep from the command line to its table, with workers that train nothing: run, run again, edit, look.
#   cli_run_test.sh RETORT SOURCE_DIR SCRIPTED_WORKER
set -u
retort="$1"
source_dir="$2"
export RETORT_WORKER="$3"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1

digits_sweep s.toml "0, 8000" "8000, 9000" "9000, 10000" <<'TOML'
[teacher]
single = { network = "datalens", epochs = 5 }

[trial]
data = "digits"
student = "datalens"
steps = 20
delta = 1e-5

[sweep]
name = "made"
seeds = [0, 1]
zip.row = [
  { method = "dpdfd", reading = "working", teacher = "single" },
]

[table.main]
rows = ["method", "reading", "teacher"]
columns = ["data"]
metric = "test.accuracy"
TOML

case_name="first run"
run "$retort" run s.toml
expect_code 0
expect_silent_out
expect_err "retort table s.toml"
for file in journal.log ledger.log sweep.toml results.h5 metrics.prom targets.json; do expect_file "results/made/$file"; done
expect_same "$(cat results/made/targets.json)" "[]"

case_name="second run does nothing, says so, within a second"
begun=$(date +%s%N)
run "$retort" run s.toml
took=$((($(date +%s%N) - begun) / 1000000))
expect_code 0
expect_err "nothing to do"
[ "$took" -lt 1000 ] || complain "took $took ms"

case_name="status"
run "$retort" status
expect_code 0
expect_out "finished"
expect_out "4 succeeded"
expect_err "results/made"
run "$retort" status --json
expect_out '"succeeded": 4'

case_name="list"
run "$retort" list
expect_code 0
expect_out "4 trials"
run "$retort" list --where method=dpdfd --where seed=1
[[ "$out" == *$'\n1 trial' ]] || complain "one trial is counted otherwise"
run "$retort" list --where metod=dpdfd
expect_code 2
expect_err "method"
run "$retort" list --json
expect_out '"row_digest"'
id="$(printf '%s\n' "$out" | sed -n 's/.*"trial":"\([0-9a-f]*\)".*/\1/p' | head -n 1)"

case_name="show and explain by id, prefix and name"
for word in "$id" "${id:0:6}" teacher-single-digits-s0; do
  run "$retort" show "$word"
  expect_code 0
  expect_out "$id"
  expect_out "Privacy"
  expect_out "attempt.h5"
  run "$retort" explain "$word"
  expect_code 0
  expect_out "succeeded"
done
run "$retort" show dpdfd
expect_code 2
expect_err "fits 2 trials"
run "$retort" show dpdfd-working-digits-s1 --json
expect_out '"ledger"'
expect_out '"files"'

case_name="table in every format"
for format in text markdown csv latex json; do
  run "$retort" table s.toml --format "$format"
  expect_code 0
  expect_out "dpdfd"
  expect_out "teacher"
done
run "$retort" table s.toml
expect_out "n=2"
expect_out "working: no finite ε holds"

case_name="verify"
run "$retort" verify
expect_code 0
expect_out "all as written"

case_name="edited sweep runs only what is new"
sed -i 's/seeds = \[0, 1\]/seeds = [0, 1, 2]/' s.toml
run "$retort" plan s.toml --diff
expect_code 0
expect_out "4 of 6 planned trials are already"
expect_out "+ dpdfd-working-digits-s2"
run "$retort" run s.toml
expect_code 0
run "$retort" status
expect_out "6 succeeded"

case_name="run as JSON is one document"
run "$retort" run s.toml --json
expect_code 0
expect_out '"exit_code": 0'

case_name="damage is found, named, and no success"
attempt="$(find results/made/trials -name attempt.h5 | sort | head -n 1)"
printf 'x' | dd of="$attempt" bs=1 seek=8 conv=notrunc 2>/dev/null
run "$retort" verify
expect_code 1
expect_out "attempt.h5"
run "$retort" verify --json
expect_code 1
expect_out '"ok": false'

case_name="results folder of another version"
cp -r results/made results/foreign
printf '\377\377' | dd of=results/foreign/journal.log bs=1 seek=8 conv=notrunc 2>/dev/null
run "$retort" status --results results/foreign
[ "$code" -ne 0 ] || complain "exit code 0"
expect_err "journal.log"
case_name="a folder that cannot be read keeps others from the same data"
run "$retort" run s.toml --results results/beside 'sweep.seeds=[1]'
expect_code 3
expect_err "results/foreign sets a budget for the same data cannot be read"
expect_err "move it out of"
rm -r results/foreign

# Seeds from 1000 on tell the workers to go wrong (tests/testing/scripted_worker.cc).
case_name="failed trials"
run "$retort" run s.toml --results results/failing 'sweep.seeds=[1004]'
expect_code 1
expect_err "retort status --results results/failing"
run "$retort" status --results results/failing
expect_code 0
expect_out "1. teacher-single-digits-s1004"
expect_out "not_finite"
expect_out "1 parent-failed"
run "$retort" explain dpdfd-working-digits-s1004 --results results/failing
expect_code 0
expect_out "its teacher did not succeed"
expect_out "not_finite"
run "$retort" table s.toml --results results/failing 'sweep.seeds=[1004]'
expect_code 0
expect_out "missing"
expect_out "1 failed"
run "$retort" verify --results results/failing
expect_code 0

case_name="retry"
run "$retort" retry dpdfd-working-digits-s1004 --results results/failing
expect_code 2
expect_err "teacher-single-digits-s1004"
run "$retort" retry --results results/failing
expect_code 2
expect_err "--failed"
expect_file results/failing/exit-code
run "$retort" explain teacher-single-digits-s1004 --results results/failing
expect_out "retort retry"
run "$retort" retry --failed --results results/failing
expect_code 0
expect_out "teacher-single-digits-s1004"
expect_out "queued"
expect_out "waiting"
expect_no_file results/failing/exit-code
run "$retort" run s.toml --results results/failing 'sweep.seeds=[1004]'
expect_code 1
run "$retort" show teacher-single-digits-s1004 --results results/failing
expect_out "2 attempts"
run "$retort" retry teacher-single-digits-s0 --results results/made
expect_code 2
expect_err "its row is final"

case_name="cancel"
run "$retort" retry --failed --results results/failing --json
expect_code 0
expect_out '"changed"'
run "$retort" cancel teacher-single-digits-s1004 --results results/failing
expect_code 0
expect_out "cancelled"
expect_out "parent-failed"
run "$retort" cancel dpdfd-working-digits-s1004 --results results/failing
expect_code 0
run "$retort" cancel dpdfd-working-digits-s1004 --results results/failing
expect_code 0
expect_err "nothing to do"
run "$retort" run s.toml --results results/failing 'sweep.seeds=[1004]'
expect_code 0
expect_err "2 cancelled"
expect_same "$(cat results/failing/exit-code)" 0
run "$retort" verify --results results/failing
expect_code 0
run "$retort" cancel teacher-single --results results/nowhere
expect_code 3

case_name="TF32 is float32 where there is no GPU, and the run says it once"
CUDA_VISIBLE_DEVICES='' run "$retort" run s.toml 'trial.precision="tf32"' --results results/tf32
expect_code 0
expect_same "$(grep -c 'precision = "tf32" is computed as float32' "$scratch/.err")" 1

case_name="interrupted, then resumed"
"$retort" run s.toml --results results/slow 'sweep.seeds=[1006]' >/dev/null 2>"$scratch/.err" &
slow=$!
while ! grep -q "running" "$scratch/.err" && kill -0 "$slow" 2>/dev/null; do sleep 0.05; done
sleep 0.3
run "$retort" run s.toml --results results/slow 'sweep.seeds=[1006]'
expect_code 3
expect_err "locked by process"
kill -INT "$slow"
code=0
wait "$slow" || code=$?
out=""
err="$(cat "$scratch/.err")"
expect_code 75
run "$retort" status --results results/slow
expect_code 0
expect_out "nobody is running"
run "$retort" plan s.toml --results results/slow 'sweep.seeds=[1006]' --diff
expect_out "to be resumed"
run "$retort" run s.toml --results results/slow 'sweep.seeds=[1006]'
expect_code 0

case_name="metrics port that cannot be had"
run "$retort" run s.toml --results results/port trial.steps=21 --metrics-listen 999.1.1.1:1
[ "$code" -eq 2 ] || [ "$code" -eq 3 ] || complain "exit code $code, not 2 or 3"
expect_err "999.1.1.1"
expect_no_file results/port

case_name="metrics port that is busy"
python3 -c 'import socket, sys, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(60)' >"$scratch/busy" &
holder=$!
while [ ! -s "$scratch/busy" ]; do sleep 0.05; done
run "$retort" run s.toml --results results/busy trial.steps=21 --metrics-listen "127.0.0.1:$(cat "$scratch/busy")"
kill "$holder"
expect_code 3
expect_err "$(cat "$scratch/busy")"
expect_no_file results/busy

case_name="results folder that cannot be made"
touch file
run "$retort" run s.toml --results file/results
expect_code 3
expect_err "file"

finish
