#!/usr/bin/env bash
# Deterministic trials give the same rows, bit for bit, in one process, on two slots, and under mpirun.
#   same_rows_test.sh RETORT SOURCE_DIR [MPIRUN_SCRIPT]
set -u
retort="$1"
sweep="$2/experiments/configs/smoke.toml"
mpirun="${3:-}"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1

digests() { "$retort" list --json --results "$1" | grep -oE '"(trial|row_digest)": ?"[0-9a-f]+"' | sort; }

case_name="one process"
run "$retort" run "$sweep" --results plain
expect_code 0
expected="$(digests plain)"
[ "$(grep -c row_digest <<<"$expected")" -eq 9 ] || complain "not nine rows"

case_name="two slots"
run "$retort" run "$sweep" --results slots --slots 2
expect_code 0
expect_same "$(digests slots)" "$expected"

case_name="another seed is another row"
run "$retort" run "$sweep" 'sweep.seeds=[1]' --results seed
expect_code 0
[ "$(digests seed)" != "$expected" ] || complain "the digests do not see the seed"

if [ -n "$mpirun" ]; then
  case_name="three ranks"
  run bash "$mpirun" -np 3 "$retort" run "$sweep" --results ranks
  expect_code 0
  expect_same "$(digests ranks)" "$expected"
fi
finish
