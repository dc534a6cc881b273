#!/usr/bin/env bash
# Small trials that share a device, by the real programs: sleep gains from company, so it is found and kept.
#   packing_test.sh RETORT SOURCE_DIR
set -u
retort="$1"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1

cat >packed.toml <<'TOML'
retort = 1

[trial]
method = "sleep"
seconds = 2.0
steps = 20
pack = "auto"

[sweep]
name = "packed"
seeds = [0]
TOML
seeds="$(seq -s, 0 139)"  # so much that a try is cheap beside it even where everything takes long
sed -i "s/^seeds = .*/seeds = [$seeds]/" packed.toml

case_name="trials share the one slot, and what was measured is said"
begin=$(date +%s)
run "$retort" run packed.toml
expect_code 0
took=$(($(date +%s) - begin))
echo "140 trials of 2 s on one slot took $took s"
[ "$took" -lt 200 ] || complain "280 s of sleep took $took s on one slot"
expect_err "2 at once do"
expect_err "1 did"
expect_err ": kept"
grep -a "at once" <<<"$err" | cut -c1-150

case_name="status repeats it"
run "$retort" status --results results/packed
expect_out "Sharing a device: cpu of"
run "$retort" status --results results/packed --json
expect_out '"packing"'
expect_out "2 at once do"

case_name="the rows are those of trials that were alone"
digests() { "$retort" list --json --results "$1" | tr ',' '\n' | grep row_digest | sort; }
run "$retort" run packed.toml --results results/alone trial.pack=off 'sweep.seeds=[0, 1]'
expect_code 0
expect_no_err "at once"
alone="$(digests results/alone)"
[ -n "$alone" ] || complain "no digests"
[ "$(comm -12 <(echo "$alone") <(digests results/packed) | wc -l)" -eq 2 ] || complain "rows differ: $alone"

case_name="too few to be worth a try"
run "$retort" run packed.toml --results results/few 'sweep.seeds=[0, 1]'
expect_code 0
expect_no_err "at once"

case_name="a word that it does not know"
run "$retort" plan packed.toml trial.pack=always
expect_code 2
expect_err "auto"

finish
