#!/usr/bin/env bash
# A results folder whose journal is damaged is repaired, and the sweep goes on: what had finished is taken over,
# nothing is drawn or charged again. By the real worker.
#   repair_test.sh RETORT SOURCE_DIR
set -u
retort="$1"
source_dir="$2"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1
digits_sweep small.toml "0, 256" "" "256, 512" <<'TOML'
[trial]
method = "dpsgd"
student = "logistic"
noise = "seeded"
threads = 1
batch = 16
steps = 2
noise_multiplier = 1
norm_bound = 0.1
lr = 1

[sweep]
name = "small"
seeds = [0, 1, 2]
TOML

digests() { "$retort" list --json 2>/dev/null | tr ',' '\n' | grep row_digest; }
flip() { # FILE OFFSET
  printf "\\x$(printf %02x $((0x$(dd if="$1" bs=1 skip="$2" count=1 status=none | od -An -tx1 | tr -d ' ') ^ 0x40)))" |
    dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

case_name="a sound folder needs no repair"
run "$retort" run small.toml
expect_code 0
before="$(digests)"
run "$retort" repair
expect_code 0
expect_out "nothing to repair"
cp results/small/ledger.log ledger.before

case_name="a damaged journal is refused and repair says what it would do"
size="$(stat -c %s results/small/journal.log)"
flip results/small/journal.log $((size / 2))
cp results/small/journal.log journal.damaged
run "$retort" run small.toml
expect_code 1
expect_err "retort repair"
run "$retort" repair
expect_code 1
expect_out "journal.log"
expect_out "--apply"
expect_same "$(cksum <results/small/journal.log)" "$(cksum <journal.damaged)"

case_name="repaired, with what was there kept aside"
run "$retort" repair --apply
expect_code 0
expect_same "$(cksum <results/small/quarantine-1/journal.log)" "$(cksum <journal.damaged)"
run "$retort" repair
expect_code 0
run "$retort" list --where state=succeeded
[[ "$out" != *"3 trials"* ]] || complain "nothing was lost, so nothing is shown"

case_name="the sweep goes on to the same rows without another charge"
run "$retort" run small.toml
expect_code 0
expect_same "$(digests)" "$before"
expect_same "$(cksum <results/small/ledger.log)" "$(cksum <ledger.before)"
run "$retort" verify
expect_code 0

case_name="a ledger that lost a record is beyond repair"
flip results/small/ledger.log 40
run "$retort" repair --apply --json
expect_code 1
expect_out '"action": "none"'

case_name="a ledger that is gone is refused and reported, and never begun anew"
cp ledger.before results/small/ledger.log
run "$retort" verify
expect_code 0
rm results/small/ledger.log
for command in "run small.toml" "retry --failed" ; do
  run "$retort" $command
  expect_code 3
  expect_err "ledger.log holds 0 of the"
done
expect_no_file results/small/ledger.log
run "$retort" verify
expect_code 1
expect_out "damage: ledger.log"
run "$retort" status
expect_out "ledger.log holds 0 of the"
run "$retort" repair --apply
expect_code 1
expect_out "beyond repair: ledger.log"
expect_no_file results/small/ledger.log

case_name="so is one that was cut in half"
head -c $(($(stat -c %s ledger.before) / 2)) ledger.before >results/small/ledger.log
cp results/small/ledger.log ledger.cut
run "$retort" run small.toml
expect_code 3
expect_err "reservations that journal.log knows of"
run "$retort" verify
expect_code 1
run "$retort" repair --apply
expect_code 1
expect_same "$(cksum <results/small/ledger.log)" "$(cksum <ledger.cut)"

finish
