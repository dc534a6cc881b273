#!/usr/bin/env bash
# Audits of a finished sweep: what they print and keep, which claims they refute, and what goes wrong.
#   audit_test.sh RETORT SOURCE_DIR SCRIPTED_WORKER        (retort-worker lies beside RETORT)
set -u
retort="$1"
sweep="$2/experiments/configs/smoke.toml"
scripted="$3"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1
rows='sweep.zip.row=[{method="dpdfd",reading="working",teacher="single"},{method="dpdfd",reading="sound",teacher="shards",source="public",queries=64,vote_noise=8,label_steps=4},{method="dpsgd",noise_multiplier=1,batch=64,norm_bound=0.1,lr=1}]'
small="--samples 2000 --results r"

case_name="the sweep to be audited"
run "$retort" run "$sweep" trial.noise=secure "$rows" --results r
expect_code 0

case_name="a sweep by the audits that train nothing"
run "$retort" audit "$sweep" trial.noise=secure "$rows" $small
expect_code 0
expect_out "noise on gradients at mu 2, 2000 samples a side"
expect_out "the whole transcript of 64 noisy-vote answers, one of 4 members swapped"
expect_out "loss threshold, 256 private against 256 test examples"
expect_out "no leak detected at this power"
expect_out "power:"
expect_err "no proof of privacy"
[[ "$out" != *"is private"* ]] || complain "an audit called something private"

case_name="canaries, and shadow networks"
run "$retort" audit dpsgd-digits-s0 --kind canary --kind membership --canaries 100 --shadows 2 $small
expect_code 0
expect_out "100 mislabelled canaries"
expect_out "offline LiRA with 2 shadow networks"
expect_out "tpr_at_fpr_0.01"
expect_no_file "${TMPDIR:-/tmp}/retort-audit-$$"

case_name="what shadows of teacher and student take is said before, and alone with --plan"
run "$retort" audit dpdfd-working-digits-s0 --kind membership --shadows 2 --plan --results r
expect_code 0
expect_err "2 shadows, about"
run "$retort" audit dpdfd-working-digits-s0 --kind membership --shadows 2 --plan --results r --json
expect_code 0
expect_out '"unknown": 0'
run "$retort" plan "$sweep" trial.noise=secure "$rows" --shadows 2 --results r
expect_code 0
expect_out "Audit: 2 shadows of each of"

case_name="membership through teacher and student"
run "$retort" audit dpdfd-working-digits-s0 --kind membership --shadows 2 --results r
expect_code 0
expect_err "LiRA and RMIA: 2 shadows, about"
expect_out "offline LiRA with 2 shadows, each a teacher and its student"
expect_out "RMIA with 2 shadows, each a teacher and its student"
expect_out "gdp_mu_lower"
expect_file "$(echo r/trials/dpdfd-working-digits-s0-*)/audit-membership.svg"
run "$retort" audit dpdfd-sound-digits-s0 --kind membership --shadows 2 --results r --json
expect_code 0
expect_out '"subject": "RMIA with 2 shadows, each a teacher and its student'
expect_out '"needed_accuracy": 0.'
expect_out '"false_positives": ['

case_name="every kind as JSON, with the confidence that was asked for"
run "$retort" audit dpsgd-digits-s0 --kind all --confidence 0.9 --json $small
expect_code 0
expect_out '"schema_version": 1'
expect_out '"ok": true'
expect_out '"confidence": 0.9'
expect_out '"kind": "inversion"'
expect_out '"ran": false'
expect_file "$(echo r/trials/dpsgd-digits-s0-*/audit-inversion.pgm)"
expect_out '"contradictions": []'

case_name="inversion by a GAN stands beside Fredrikson's"
run "$retort" audit dpsgd-digits-s0 --kind inversion --attack gmi --gan-steps 2 --latent-steps 2 --results r
expect_code 0
expect_out "inversion/gmi: 5 pictures a class by 2 steps in the latent space of a GAN"
expect_out "inversion/fredrikson: one picture a class"
expect_out "attack_accuracy_untrained"
expect_file "$(echo r/trials/dpsgd-digits-s0-*/audit-gmi.pgm)"

case_name="options of an attack that is not asked for"
run "$retort" audit dpsgd-digits-s0 --attack gmi --results r
expect_code 2
expect_err "go with --kind inversion"
run "$retort" audit dpsgd-digits-s0 --kind inversion --gan-steps 5 --results r
expect_code 2
expect_err "go with --attack gmi"

case_name="what was found is kept and shown, and is no damage"
ls r/trials/dpsgd-digits-s0-*/audit.json >.list || complain "no audit.json"
run "$retort" show dpsgd-digits-s0 --results r
expect_code 0
expect_out "Audits"
expect_out "a DP-SGD step at mu 3"
expect_out "auc"
run "$retort" show dpsgd-digits-s0 --results r --json
expect_out '"verdict": "no leak detected at this power"'
run "$retort" verify --results r
expect_code 0

case_name="lower bounds stand among the claims of the table"
run "$retort" audit dpsgd-digits-s0 --kind canary --kind membership --results r
run "$retort" table "$sweep" trial.noise=secure "$rows" --results r
expect_code 0
expect_out "(95 %)"
expect_out "audit:membership"
expect_out "audit:canary"
run "$retort" table "$sweep" trial.noise=secure "$rows" --results r --format json
expect_code 0
expect_out '"status": "audited"'

case_name="a refuted claim"
RETORT_WORKER="$scripted" run "$retort" audit dpsgd-digits-s0 --kind canary --results r
expect_code 1
expect_out "LEAK beyond what is proven: canary audit of a script: the attack shows epsilon >= 9"
expect_err "refuted"
run "$retort" show dpsgd-digits-s0 --results r
expect_out "AUDIT FAILED: canary audit of a script"
expect_out "a DP-SGD step at mu 3"
run "$retort" verify --results r
expect_code 1
expect_out "refuted by canary audit"
[[ "$out" != *"results.h5"* ]] || complain "results.h5 still shows the refuted claim"

case_name="a refuted claim is shown by nobody"
run "$retort" table "$sweep" trial.noise=secure "$rows" --results r
expect_code 0
expect_out "refuted by canary audit of a script"
run "$retort" table "$sweep" trial.noise=secure "$rows" --results r --json
expect_out '"reason": "refuted-by-audit"'
run "$retort" show dpsgd-digits-s0 --results r
expect_out "shows more than was"
run "$retort" list --results r
expect_code 0
expect_out "refuted-by-audit"
run "$retort" list --results r --json
expect_out '"failure":"refuted-by-audit"'
run "$retort" plan "$sweep" trial.noise=secure "$rows" --results r --json
expect_code 0
expect_out '"reason":"refuted-by-audit"'
run "$retort" status --results r
expect_code 0
expect_out "1. a proven claim of dpsgd-digits-s0"
expect_out "ε = ∞"

case_name="an audit that finds less takes nothing back"
run "$retort" audit dpsgd-digits-s0 --kind canary --canaries 100 --results r
expect_code 1
expect_out "LEAK beyond what is proven: canary audit of a script"
run "$retort" verify --results r
expect_code 1
run "$retort" list --results r
expect_out "refuted-by-audit"

case_name="an audit of a trial that nothing refutes"
rm "$(cat .list)" refuted/*.json r/refuted/*.json
run "$retort" audit dpsgd-digits-s0 --kind canary --canaries 100 --results r
expect_code 0
run "$retort" repair --apply --results r    # results.h5 shows the claim again
run "$retort" verify --results r
expect_code 0
run "$retort" list --results r
[[ "$out" != *"refuted"* ]] || complain "what is not refuted is said to be"

case_name="a damaged report is said, takes the claims with it, and is not replaced"
report="$(cat .list)"
cp "$report" whole.json
for bytes in 0 300; do
  head -c "$bytes" whole.json >"$report"
  run "$retort" show dpsgd-digits-s0 --results r
  expect_code 1
  expect_err "audit.json"
  run "$retort" table "$sweep" trial.noise=secure "$rows" --results r
  expect_code 1
  expect_out "nobody can say what audits found of dpsgd-digits-s0"
  run "$retort" table "$sweep" trial.noise=secure "$rows" --results r --json
  expect_code 1
  expect_out '"reason": "audit-unreadable"'
  run "$retort" list --results r --json
  expect_out '"failure":"audit-unreadable"'
  run "$retort" status --results r
  expect_out "nothing is claimed of dpsgd-digits-s0"
  run "$retort" report --results r --out page.html
  expect_code 1
  grep -q "Nothing is claimed, since nobody can say what audits found" page.html || complain "the page is silent"
  run "$retort" audit dpsgd-digits-s0 --kind inversion --results r
  expect_code 1
  expect_err "move it away"
  [[ "$(wc -c <"$report")" == "$bytes" ]] || complain "the damaged report was replaced"
done
rm "$report"
run "$retort" audit dpsgd-digits-s0 --kind inversion --results r
expect_code 0
run "$retort" show dpsgd-digits-s0 --results r
expect_code 0

case_name="the results root remembers what was refuted"
RETORT_WORKER="$scripted" run "$retort" audit dpsgd-digits-s0 --kind canary --results r
expect_code 1
ls refuted/*.json >/dev/null || complain "the root has no note"
for bytes in 0 300; do
  head -c "$bytes" whole.json >"$report"
  run "$retort" table "$sweep" trial.noise=secure "$rows" --results r
  expect_code 0
  expect_out "refuted by canary audit of a script"
done
rm "$report"
run "$retort" table "$sweep" trial.noise=secure "$rows" --results r --json
expect_out '"reason": "refuted-by-audit"'
run "$retort" audit dpsgd-digits-s0 --kind canary --canaries 100 --results r
expect_code 1
run "$retort" list --results r
expect_out "refuted-by-audit"

case_name="a worker that dies"
RETORT_WORKER=/bin/false run "$retort" audit dpsgd-digits-s0 --results r
expect_code 3
expect_err "ended in the middle of the audit"
RETORT_WORKER=/nowhere run "$retort" audit dpsgd-digits-s0 --results r
expect_code 3
expect_err "/nowhere"

case_name="mistakes"
run "$retort" audit nosuch --results r
expect_code 2
run "$retort" audit dpsgd-digits-s0 --kind everything --results r
expect_code 2
run "$retort" audit dpsgd-digits-s0 --confidence 1.5 --results r
expect_code 2
run "$retort" audit dpsgd-digits-s0 trial.steps=3 --results r
expect_code 2
expect_err "goes with a sweep file"
run "$retort" audit dpsgd-digits-s0 --results empty
expect_code 3
only='sweep.zip.row=[{method="dpdfd",reading="sound",teacher="dp"},{method="dpsgd",noise_multiplier=1,batch=64,norm_bound=0.1,lr=1}]'
run "$retort" run "$sweep" trial.noise=secure "$only" 'data.digits.budget={epsilon=0.01,delta=1e-4}' --results failed
run "$retort" audit dpsgd-digits-s0 --results failed
expect_code 2
expect_err "is failed: only a trial that has succeeded can be audited"
run "$retort" audit "$sweep" trial.noise=secure "$only" --results failed
expect_code 2
expect_err "no trial of the sweep has succeeded"

case_name="what the trial left is gone"
mv r/trials/dpsgd-digits-s0-*/attempt-1/attempt.h5 .
run "$retort" audit dpsgd-digits-s0 --kind membership --results r
[ "$code" -ne 0 ] || complain "exit code 0"
expect_err "attempt.h5"
finish
