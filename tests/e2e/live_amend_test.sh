#!/usr/bin/env bash
# retort cancel and retort retry on a sweep that is running.
#   live_amend_test.sh RETORT [LAUNCHER]      LAUNCHER: mpirun.sh, for the same with several ranks
set -u
retort="$1"
launcher=("${@:2}")
ranks=()
[ "${#launcher[@]}" -gt 0 ] && ranks=("${launcher[@]}" -np 3)
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1

cat >naps.toml <<'TOML'
retort = 1

[trial]
method = "sleep"
steps = 3000
checkpoint_every = "1h"

[sweep]
name = "naps"
zip.row = [ { seconds = 300, priority = 3 }, { seconds = 301, priority = 2 }, { seconds = 302, priority = 1 }, { seconds = 1.5 }, { seconds = 303 } ]
seeds = [0]
TOML

state() { "$retort" list --results results/naps --where state="$1" 2>/dev/null | tail -1; }
wait_for() { # SECONDS COMMAND…
  local tries=$(($1 * 5))
  shift
  until "$@" || [ "$((tries--))" -eq 0 ]; do sleep 0.2; done
}
first_runs() { "$retort" explain sleep-seconds300-s0 --results results/naps 2>/dev/null | grep -q "is running"; }

"${ranks[@]}" "$retort" run naps.toml --results results/naps --quiet >run.out 2>run.err &
running=$!
wait_for 30 first_runs

case_name="the devices of all ranks are known"
devices="1 device on 1 host"
[ "${#ranks[@]}" -gt 0 ] && devices="3 devices on 1 host"
devices_known() { "$retort" status --results results/naps 2>/dev/null | grep -q "Devices: $devices"; }
wait_for 10 devices_known
devices_known || complain "not $devices: $("$retort" status --results results/naps)"

case_name="a queued trial is cancelled at once, a running one when it is saved"
run "$retort" cancel sleep-seconds302-s0 --results results/naps
expect_code 0
expect_out "sleep-seconds302"
expect_out "cancelled"
run "$retort" cancel sleep-seconds300-s0 sleep-seconds301-s0 --results results/naps --json
expect_code 0
expect_out '"state": "cancelled"'
case_name="what was saved is there for a retry"
ls results/naps/trials/sleep-seconds300-s0-*/attempt-1/checkpoint-*.h5 >/dev/null 2>&1 || complain "no checkpoint"
kill -0 "$running" 2>/dev/null || complain "the run has ended"
run "$retort" retry sleep-seconds300-s0 --results results/naps
expect_code 0
expect_no_err "next: retort run"
case_name="a refusal says why"
run "$retort" retry no-such-trial --results results/naps
expect_code 2
case_name="the retried trial goes on where it was, in the same run"
second_runs() { "$retort" show sleep-seconds300-s0 --results results/naps --json 2>/dev/null | grep -q '"attempts": 2'; }
wait_for 20 second_runs
second_runs || complain "not tried again"
run "$retort" cancel sleep-seconds300-s0 sleep-seconds303-s0 --results results/naps
expect_code 0
wait "$running"
expect_same "$(cat results/naps/exit-code)" 0
run "$retort" list --results results/naps --where state=cancelled
expect_out "4 trials"
run "$retort" list --results results/naps --where state=succeeded
expect_out "sleep-seconds1.5"
expect_same "$(ls results/naps/requests | wc -l)" 0

if [ "${#ranks[@]}" -eq 0 ]; then
  case_name="a retry that asks for more devices than the run has is refused, and the run ends by itself"
  cat >pair.toml <<'TOML'
retort = 1

[trial]
method = "sleep"
steps = 3000

[sweep]
name = "pair"
zip.row = [ { seconds = 300, devices = 2 }, { seconds = 6, devices = 1 } ]
seeds = [0]
TOML
  "$retort" run pair.toml --slots 2 --results results/pair --quiet 2>pair.err &
  pair=$!
  pair_runs() { "$retort" list --results results/pair --where state=running 2>/dev/null | grep -q seconds300; }
  wait_for 30 pair_runs
  run "$retort" cancel sleep-seconds300-s0 --results results/pair
  expect_code 0
  kill -TERM "$pair"
  wait "$pair"
  "$retort" run pair.toml --slots 1 --results results/pair --quiet 2>pair.err &
  pair=$!
  small_runs() { "$retort" list --results results/pair --where state=running 2>/dev/null | grep -q seconds6; }
  wait_for 30 small_runs
  run "$retort" retry sleep-seconds300-s0 --results results/pair
  expect_code 2
  expect_err "needs 2 devices at once, and this run has 1"
  wait "$pair"
  expect_same "$?" 0
fi

case_name="a request that nobody took is done when the next run begins"
mkdir -p results/naps/requests
printf 'rubbish' >results/naps/requests/1.request
run "$retort" run naps.toml --results results/naps
expect_code 0
expect_err "a request was left here and is refused"
expect_no_file results/naps/requests/1.request
run "$retort" verify --results results/naps
expect_code 0

if [ "${#ranks[@]}" -eq 0 ]; then
  case_name="a run that does not answer: the request is queued, and done by the next run"
  "$retort" run naps.toml --results results/stuck --quiet 2>stuck.err &
  stuck=$!
  stuck_runs() { "$retort" explain sleep-seconds300-s0 --results results/stuck 2>/dev/null | grep -q "is running on cpu of"; }
  wait_for 30 stuck_runs
  run "$retort" status --results results/stuck
  expect_out "Devices: 1 device on 1 host: 1 busy"
  run "$retort" explain sleep-seconds301-s0 --results results/stuck
  expect_out "It waits for cpu of"
  expect_out "which runs sleep-seconds300-s0"
  kill -STOP "$stuck"
  run "$retort" cancel sleep-seconds300-s0 sleep-seconds301-s0 sleep-seconds302-s0 sleep-seconds303-s0 --results results/stuck
  expect_code 0
  expect_err "nobody has answered yet"
  run "$retort" status --results results/stuck
  expect_out "Requests: 1 to cancel or retry"
  kill -KILL "$stuck"
  wait "$stuck" 2>/dev/null
  run "$retort" run naps.toml --results results/stuck
  expect_code 0
  expect_err "a request to cancel 4 trial(s) was left here: done, 4 changed"
  run "$retort" list --results results/stuck --where state=cancelled
  expect_out "4 trials"
fi
finish
