#!/usr/bin/env bash
# `retort doctor` with faults made real: each is named, with what mends it, and only what would stop a run ends it with 3.
#   doctor_test.sh RETORT SOURCE_DIR
set -u
retort="$1"
source_dir="$2"
export TMPDIR="${TMPDIR:-/tmp}"  # no memory, of which it warns
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1
unset CUDA_VISIBLE_DEVICES SLURM_NTASKS SLURM_STEP_NUM_TASKS

# doctor [NAME=VALUE…] -- ARGUMENT… : at most 10 s, and nothing is left behind.
doctor() {
  local settings=() began=$SECONDS
  while [ "$1" != "--" ]; do settings+=("$1"); shift; done
  shift
  run /usr/bin/env "${settings[@]}" "$retort" doctor "$@"
  [ $((SECONDS - began)) -le 10 ] || complain "it took $((SECONDS - began)) s"
  expect_no_file results
  [ -z "$(find . -name '.retort-doctor-*')" ] || complain "a folder is left behind"
}

# finding LEVEL NAME: TEXT
finding() { grep -qE "^$1 +$2: .*$3" <<<"$out" || complain "no finding: $1 $2: $3"; }

case_name="a machine without a fault"
doctor --
expect_code 0
finding ok worker "starts"
finding "(ok|warning)" LibTorch "GFLOP/s"
finding ok "file locks" "a second refused"
finding "(ok|note)" "results folder" "synced"
finding ok variables ""

case_name="one JSON document"
doctor -- --json
expect_code 0
expect_out '"schema_version": 1'
expect_out '"problems": 0'
expect_out '"name": "worker"'

case_name="the worker program is missing"
mkdir alone
cp "$retort" alone/
run alone/retort doctor
expect_code 3
finding problem worker "alone/retort-worker cannot be run"
expect_out "--target retort-worker"

case_name="a worker program that hangs"
printf '#!/bin/sh\nexec sleep 60\n' >slow
chmod +x slow
doctor "RETORT_WORKER=$PWD/slow" --
finding warning worker "does not say its version"

case_name="a worker program of another build"
printf '#!/bin/sh\necho retort-worker 0.0.1\n' >old
chmod +x old
doctor "RETORT_WORKER=$PWD/old" --
expect_code 3
finding problem worker "another build"
expect_out "build both from the same sources"

case_name="results below a file"
echo >file
doctor -- --results file/below
expect_code 3
finding problem "results folder" "is no folder"
expect_same "$(cat file)" ""

case_name="results where nothing can be made"
doctor -- --results /proc/retort
expect_code 3
finding problem "results folder" "nothing can be made in /proc"

case_name="a mistyped variable"
doctor RETORT_DTA=/x --
expect_code 0
finding warning variables "RETORT_DTA is set, and nothing reads it"
expect_out "is RETORT_DATA meant?"

case_name="RETORT_DATA that is not there"
doctor RETORT_DATA=/nowhere/data --
expect_code 0
finding warning "data folder" "/nowhere/data is no folder"

case_name="a GPU that is not there"
doctor CUDA_VISIBLE_DEVICES=7 --
[ -e /dev/nvidia7 ] || finding warning "GPU mask" "there is no GPU 7"

case_name="an allocation of four tasks, and one process"
doctor SLURM_NTASKS=4 --
expect_code 0
finding note ranks "4 tasks"
expect_out "mpirun.sh -np 4"

case_name="four processes that would each take themselves for the only one"
doctor SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=4 --
expect_code 3
finding problem ranks "SLURM_STEP_NUM_TASKS=4"

case_name="an allocation that is over"
doctor RETORT_END_TIME=5 --
expect_code 3
finding problem allocation "it has ended"

case_name="a metrics port that is taken"
python3 - >port 2>/dev/null <<'PY' &
import socket, time
taken = socket.socket()
try:
    taken.bind(("127.0.0.1", 9477))
    taken.listen()
except OSError:
    pass  # somebody else has it: just as well
print("taken", flush=True)
time.sleep(30)
PY
holder=$!
for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done
doctor --
kill "$holder"
wait "$holder" 2>/dev/null
expect_code 0
finding note "metrics port" "9477 is taken; a run would take 9"

case_name="a home that cannot be written"
doctor HOME=/proc XDG_CACHE_HOME= --
expect_code 0
finding note cache "not remembered"

case_name="no mpirun"
doctor PATH=/nowhere --
expect_code 0
finding note mpirun ""

case_name="an mpirun that hangs"
doctor "RETORT_MPIRUN=$PWD/slow" --
expect_code 0
finding "(note|warning)" mpirun ""

case_name="hardly any open files"
run bash -c 'ulimit -n 9; exec "$0" doctor' "$retort"
expect_code 3
finding problem limits "9 open files are allowed"
expect_out "ulimit -n 1024"

case_name="a sweep whose data are here, and one whose are not"
digits_sweep here.toml "0, 64" "" "64, 128" <<'TOML'
[trial]
method = "dpsgd"
student = "logistic"
data = "digits"
noise_multiplier = 1
norm_bound = 0.1
lr = 1
steps = 2
batch = 16
delta = 1e-4
[sweep]
name = "here"
seeds = [0]
TOML
doctor -- here.toml
expect_code 0
finding ok sweep "trials: 1"
sed 's#data/mnist10k#data/nowhere#' here.toml >gone.toml
doctor -- gone.toml
expect_code 3
finding problem data.digits.path "gone.toml:5: .*nowhere"
doctor -- here.toml trial.stepz=3
expect_code 3
expect_out "is steps meant?"

finish
