#!/usr/bin/env bash
# Calculators from the command line: values, JSON, and one error with exit code 2 for each mistake.
#   calculator_test.sh RETORT
set -u
retort="$1"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1
votes="votes --noise 100 --queries 5000 --delta 1e-5"

case_name="claims of a mechanism"
run "$retort" epsilon $votes
expect_code 0; expect_out "≤ 4.378"; expect_out "≤ 2.944"; expect_out "exact-gdp"; expect_out "disjoint-shards-by-index"
run "$retort" epsilon $votes --explain
expect_out "Balle-Wang 2018"; expect_out "mu² = 2 queries / noise²"; expect_out "up from 4.3771781 to thousandths"

case_name="brackets"
run "$retort" epsilon subsampled-gaussian --noise-multiplier 1.5 --sampling-rate 0.04 --steps 2250 --delta 1e-5 --explain
expect_code 0; expect_out "≤ 6.769"; expect_out "no better than ε = 6.76"; expect_out "best order"; expect_out "removal binds"
run "$retort" epsilon subsampled-gaussian --noise-multiplier 1.5 --sampling-rate 0.04 --steps 2250 --delta 1e-5 --accountant rdp
expect_code 0; expect_out "≤ 7.3"
[[ "$out" != *pld* ]] || complain "--accountant rdp shows pld"

case_name="json"
run "$retort" epsilon $votes --json
expect_code 0; expect_out '"schema_version": 1'; expect_out '"epsilon": 4.378'; expect_out '"unrounded": 4.37717809'
run "$retort" calibrate votes --queries 5000 --delta 1e-5 --epsilon 3 --json
expect_code 0; expect_out '"parameter": "noise"'; expect_out '"value": '
run "$retort" epsilon --papers --json
expect_code 0; expect_out '"epsilon": "inf"'; expect_out 'DPDFD Alg. 1'

case_name="paper settings"
run "$retort" epsilon --papers
expect_code 0; expect_out "2,929.280"; expect_out "0.046; 0.262"; expect_out "∞"; expect_out "not a guarantee"
run "$retort" epsilon paper --method dpdfd --sigma 100 --norm-bound 1e-3 --classes 10 --batch 256 --steps 200 --delta 1e-5
expect_code 0; expect_out "0.046 †"; expect_out "2,929.280"; expect_out "28.839"

case_name="calibration"
run "$retort" calibrate gaussian --epsilon 1 --sensitivity 1 --count 1 --delta 1e-5
expect_code 0; expect_out "noise = 3.73063164"; expect_out "≤ 1.000"

case_name="steps beyond any count"
many="subsampled-gaussian --sampling-rate 1e-4 --delta 1e-5 --epsilon 8"
for accountant in "" "--accountant rdp" "--accountant pld"; do
  run "$retort" calibrate $many --noise-multiplier 1000 $accountant
  expect_code 0; expect_out "steps = "; expect_out "≤ "
  run "$retort" calibrate $many --noise-multiplier 1e6 $accountant
  expect_code 0; expect_out "steps more than 1e+15; the claims are those of so many"
done
run "$retort" calibrate gaussian --noise 1e12 --sensitivity 1 --delta 1e-5 --epsilon 8
expect_code 0; expect_out "count more than 1e+15"
run "$retort" calibrate gaussian --noise 1e12 --sensitivity 1 --delta 1e-5 --epsilon 8 --json
expect_out '"more": true'
run "$retort" calibrate $many --noise-multiplier 1e-3
expect_code 2; expect_err "No --steps brings epsilon to 8"

case_name="delta above 1/N"
run "$retort" epsilon votes --noise 100 --queries 5000 --delta 1e-3 --examples 8000
expect_code 0; expect_err "warning: δ=0.001 is larger than 1/N for the 8000 private examples"
run "$retort" epsilon $votes --examples 8000
expect_code 0; expect_no_err "warning"

# mistake TEXT ARGUMENTS…: one error that says TEXT, exit 2, nothing on stdout.
mistake() {
  local text="$1"; shift
  case_name="$*"
  run "$retort" "$@"
  expect_code 2; expect_err "$text"; expect_silent_out
}
mistake "Name a mechanism" epsilon
mistake "there is no mechanism" epsilon vote
mistake "--delta must lie between 0 and 1" epsilon votes --noise 1 --queries 5 --delta 1
mistake "--noise must be a finite number above 0, not 0" epsilon votes --noise 0 --queries 5 --delta 1e-5
mistake "--noise must be a finite number above 0, not nan" epsilon votes --noise nan --queries 5 --delta 1e-5
mistake "--queries must be a whole number" epsilon votes --noise 1 --queries 2.5 --delta 1e-5
mistake "--sampling-rate must be above 0 and at most 1, not 1.5" epsilon subsampled-gaussian --sampling-rate 1.5 --noise-multiplier 1 --steps 1 --delta 1e-5
mistake "--steps must be a whole number" epsilon subsampled-gaussian --sampling-rate 0.5 --noise-multiplier 1 --steps 1e18 --delta 1e-5
mistake "needs --queries" epsilon votes --noise 1 --delta 1e-5
mistake "is no parameter of rona" epsilon paper --method rona --batch 3 --sigma 10 --query-rate 0.5 --steps 20 --delta 1e-5
mistake "no paper method" epsilon paper --method pate
mistake "is no number" epsilon votes --noise many
mistake "--epsilon must be a finite number above 0" calibrate votes --epsilon 0 --queries 5 --delta 1e-5
mistake "Leave out exactly one of --noise and --queries" calibrate $votes --epsilon 1
mistake "No --queries brings epsilon to 0.1" calibrate votes --epsilon 0.1 --noise 1 --delta 1e-5
mistake "--papers stands alone" epsilon --papers $votes
finish
