#!/usr/bin/env bash
# Tables of sweeps that have never run, that run in parts, and whose data are elsewhere, with workers that train nothing.
#   table_test.sh RETORT SOURCE_DIR SCRIPTED_WORKER
set -u
retort="$1"
source_dir="$2"
export RETORT_WORKER="$3"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1

digits_sweep s.toml "0, 8000" "8000, 9000" "9000, 10000" <<'TOML'
[teacher]
single = { network = "datalens", epochs = 5 }
spare = { network = "logistic", epochs = 5 }

[trial]
data = "digits"
student = "datalens"
steps = 20
delta = 1e-5

[sweep]
name = "made"
seeds = [0, 1]
zip.row = [
  { method = "dpdfd", reading = "working", teacher = "single", claim = "paper", epsilon = 1, calibrate = "noise" },
  { method = "dpdfd", reading = "printed", teacher = "spare" },
  { method = "dpsgd", noise_multiplier = 1 },
]

[table.main]
rows = ["method", "reading", "teacher"]
columns = ["data"]
where = { reading = "working" }
published = "dpdfd-ijcai23/table1"

[table.all]
rows = ["method", "reading", "teacher"]
columns = ["data"]
interval = "bootstrap"

[profile.smoke.trial]
steps = 2
TOML
sed -i 's/^reader = "idx"/&\npublished_as = "MNIST"/' s.toml

states() { printf '%s\n' "$out" | sed -n 's/.*"state": *"\([a-z]*\)".*/\1/p' | sort | uniq -c | tr -s ' ' | tr '\n' ';'; }

case_name="a sweep that has never run has missing and quoted cells in place"
for format in text markdown csv latex json; do
  run "$retort" table s.toml main --format "$format"
  expect_code 0
  expect_out "DP-GAN"
  expect_out "dpdfd"
done
expect_same "$(states)" " 1 missing; 18 quoted;"
run "$retort" table s.toml main
expect_out "– missing"
expect_out "published 95.12 %"
expect_out "quoted 40.36 %"
expect_err "nothing is stored"
expect_no_file results

case_name="complete runs the missing cells of one table and their teacher, and nothing else"
run "$retort" table s.toml main --complete
expect_code 0
expect_out "n=2"
run "$retort" list
expect_out "4 trials"
expect_out "teacher-single-digits-s0"
run "$retort" verify
expect_code 0
rows="$("$retort" list --json 2>/dev/null | tr ',' '\n' | grep row_digest | sort)"
journal="$(sha256sum <results/made/journal.log)"

case_name="completing a complete table runs nothing and writes nothing"
run "$retort" table s.toml main --complete --json
expect_code 0
expect_err "nothing is left to run"
expect_out '"state": "complete"'
expect_same "$(sha256sum <results/made/journal.log)" "$journal"
expect_same "$("$retort" list --json 2>/dev/null | tr ',' '\n' | grep row_digest | sort)" "$rows"

case_name="the other tables are missing what this one did not need"
run "$retort" table s.toml all --format json
expect_same "$(states)" " 1 complete; 2 missing;"

case_name="more seeds are partial cells, and completing runs only those"
run "$retort" table s.toml main 'sweep.seeds=[0, 1, 2]' --format json
expect_same "$(states)" " 1 partial; 18 quoted;"
run "$retort" table s.toml main 'sweep.seeds=[0, 1, 2]'
expect_out "n=2 of 3"
run "$retort" table s.toml main 'sweep.seeds=[0, 1, 2]' --complete --slots 2
expect_code 0
expect_out "n=3"
run "$retort" list
expect_out "6 trials"

case_name="a run of the whole sweep does the rest"
run "$retort" run s.toml 'sweep.seeds=[0, 1, 2]'
expect_code 0
run "$retort" table s.toml 'sweep.seeds=[0, 1, 2]' --complete
expect_code 0
expect_err "nothing is left to run"
run "$retort" table s.toml all 'sweep.seeds=[0, 1, 2]' --format json
expect_same "$(states)" " 3 complete;"
expect_out '"interval": "bootstrap"'
expect_out '"test_n": 1000'
run "$retort" verify
expect_code 0

case_name="what a smaller plan of the same folder has not is in the table still, and is not run again"
run "$retort" run s.toml 'sweep.seeds=[2]' 'sweep.zip.row=[{ method = "dpsgd", noise_multiplier = 1 }]'
expect_code 0
run "$retort" list
expect_out "1 trial"
run "$retort" table s.toml all 'sweep.seeds=[0, 1, 2]' --format json
expect_same "$(states)" " 3 complete;"
journal="$(sha256sum <results/made/journal.log)"
run "$retort" table s.toml 'sweep.seeds=[0, 1, 2]' --complete
expect_code 0
expect_err "nothing is left to run"
expect_same "$(sha256sum <results/made/journal.log)" "$journal"

case_name="trials that failed for good are named and not run again"
run "$retort" table s.toml main --complete --results results/failing 'sweep.seeds=[1004]'
expect_code 1
expect_out "– missing"
run "$retort" table s.toml main --complete --results results/failing 'sweep.seeds=[1004]'
expect_code 1
expect_err "retort retry --failed"
run "$retort" list --results results/failing
expect_out "not_finite"

case_name="cells of the profile smoke say so"
run "$retort" table s.toml main --profile smoke --results results/smoke --complete
expect_code 0
expect_out "n=2, smoke"
run "$retort" table s.toml main --profile smoke --results results/smoke --format csv
expect_out ",true,"

case_name="data that are not here"
sed 's#data/mnist10k#data/nowhere#' s.toml >elsewhere.toml
run "$retort" table elsewhere.toml main
expect_code 0
expect_out "– missing"
expect_out "published 95.12 %"
expect_err "data.digits.path"
expect_err "taken to be as published"
run "$retort" table elsewhere.toml main --complete
expect_code 3

finish
