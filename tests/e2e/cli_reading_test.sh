#!/usr/bin/env bash
# Commands that only read: what they print, where, and with which exit code, when there is nothing to read.
#   cli_reading_test.sh RETORT SOURCE_DIR
set -u
retort="$1"
source_dir="$2"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1
quickstart="$source_dir/experiments/configs/quickstart.toml"

case_name="help"
run "$retort" --help
expect_code 0
for command in plan run table status explain list show verify schema version; do expect_out "  $command "; done
run "$retort"
expect_code 0
for command in plan run table status explain list show verify schema version; do
  case_name="help of $command"
  run "$retort" "$command" --help
  expect_code 0
  expect_out "Examples:"
done

for command in status list verify "show x" "explain x"; do
  case_name="$command without results"
  # shellcheck disable=SC2086
  run "$retort" $command
  expect_code 3
  expect_err "retort run"
  expect_silent_out
  # shellcheck disable=SC2086
  run "$retort" $command --json
  expect_code 3
  expect_out '"errors"'
done

case_name="folder that holds something else"
mkdir other
echo hello >other/journal.log
run "$retort" status --results other
[ "$code" -ne 0 ] || complain "exit code 0"
expect_err "journal.log"

case_name="plan of the quickstart"
run "$retort" plan "$quickstart"
expect_code 0
expect_out "quickstart"
expect_out "10,000 examples"
expect_out "†"
expect_out "∞"
expect_no_file results
run "$retort" plan "$quickstart" --json
expect_code 0
expect_out '"adjacency":"example"'
expect_out '"new":true'

case_name="diff without results"
run "$retort" plan "$quickstart" --diff
expect_code 0
expect_out "+ dpdfd-working"

case_name="table without results"
run "$retort" table "$quickstart"
expect_code 0
expect_out "missing"
expect_err "retort run"
run "$retort" table "$quickstart" --json
expect_code 0
expect_out '"state": "missing"'
run "$retort" table "$quickstart" nosuch
expect_code 2
expect_err "quickstart"

case_name="schema and version"
run "$retort" schema
expect_code 0
expect_out '"$schema"'
run "$retort" version
expect_code 0
expect_out "retort "
run "$retort" version --verbose --json
expect_code 0
expect_out '"compiler"'

case_name="no colours without a terminal"
run "$retort" plan "$quickstart"
[[ "$out" != *$'\x1b'* ]] || complain "escape sequences on a pipe"

case_name="full disk behind stdout"
run bash -c '"$1" version >/dev/full' bash "$retort"
expect_code 3
expect_err "stdout"

case_name="quiet"
run "$retort" table "$quickstart" --quiet
expect_code 0
expect_same "$err" ""

finish
