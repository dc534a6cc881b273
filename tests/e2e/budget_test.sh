#!/usr/bin/env bash
# A budget is a cap over everything that is charged to a private data set, and over nothing else.
#   budget_test.sh RETORT SOURCE_DIR        (retort-worker lies beside RETORT)
set -u
retort="$1"
sweep="$2/experiments/configs/smoke.toml"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1

case_name="seeded noise has no bound, so no budget covers it"
run "$retort" plan "$sweep" 'data.digits.budget={epsilon=1000,delta=1e-4}'
expect_code 2
expect_err "data.digits.budget"
expect_err "no finite proven claim"

only_private='sweep.zip.row=[{method="dpdfd",reading="sound",teacher="dp"},{method="dpsgd",noise_multiplier=1,batch=64,norm_bound=0.1,lr=1}]'
case_name="a student of a private teacher costs nothing beyond the teacher"
run "$retort" run "$sweep" trial.noise=secure "$only_private" 'data.digits.budget={epsilon=1000,delta=1e-4}' --results r
expect_code 0
run "$retort" status --results r --json
expect_out '"digits"'
[[ "$out" != *inf* ]] || complain "the total is unbounded"

case_name="a budget that is too small stops the trial, and says which budget"
run "$retort" run "$sweep" trial.noise=secure "$only_private" 'data.digits.budget={epsilon=0.01,delta=1e-4}' --results small
expect_code 1
run "$retort" list --results small --json
expect_out "budget_refused"
expect_out "over its budget"

case_name="a budget counts what other sweeps of the results root spent"
spent=$("$retort" status --results r --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["epsilon"]["digits"]["epsilon"])')
run "$retort" run "$sweep" trial.noise=secure "$only_private" sweep.seeds=[1] "data.digits.budget={epsilon=$spent,delta=1e-4}" --results beside
expect_code 1
run "$retort" list --results beside --json
expect_out "other sweeps in the same results root"
run bash -c "'$retort' status --results beside | tr -s ' \n' ' '"  # wherever its lines break
expect_out "with what other sweeps in the same results root spent"
expect_out "over its budget"

case_name="a neighbour that cannot be read stops a budgeted run, and names the remedy"
mkdir -p torn && cp r/ledger.log torn/ledger.log
printf '\377' | dd of=torn/ledger.log bs=1 seek=40 conv=notrunc 2> /dev/null
run "$retort" run "$sweep" trial.noise=secure "$only_private" 'data.digits.budget={epsilon=1000,delta=1e-4}' --results third
expect_code 3
expect_err "torn"
expect_err "retort repair"
[ ! -e third ] || complain "a refused run left a folder"

case_name="so does a neighbour whose ledger is gone"
rm -r torn
mv r/ledger.log r.ledger
run "$retort" run "$sweep" trial.noise=secure "$only_private" 'data.digits.budget={epsilon=1000,delta=1e-4}' --results third
expect_code 3
expect_err "r/ledger.log holds 0 of the"
mv r.ledger r/ledger.log
mkdir alone && cd alone || exit 1

case_name="a budget covers the same files under a second name"
cat >twice.toml <<TOML
retort = 1

[data.a]
reader = "idx"
path = "$2/experiments/data/mnist10k"
split = { shuffle = 1, train = [0, 256], test = [256, 512] }
budget = { epsilon = 0.01, delta = 1e-5 }

[data.b]
reader = "idx"
path = "$2/experiments/data/mnist10k"
split = { shuffle = 2, train = [0, 256], test = [256, 512] }

[trial]
method = "dpsgd"
student = "logistic"
noise = "secure"
threads = 1
batch = 16
steps = 2
noise_multiplier = 1
norm_bound = 0.1
lr = 1

[sweep]
name = "twice"
seeds = [0]
grid.data = ["a", "b"]
TOML
run "$retort" run twice.toml
expect_code 1
expect_err "the budget of data.a covers both"
run "$retort" list --json
[ "$(grep -c 'budget_refused"' <<<"$out")" -eq 2 ] || complain "not both are refused"
run "$retort" run twice.toml 'data.b.budget={epsilon=5,delta=1e-5}'
expect_code 2
expect_err "data.b and data.a hold the same examples"

case_name="the budget of a sweep that has ended binds a later one without"
grep -v '^budget' twice.toml | sed 's/"twice"/"later"/; s/^grid.*//; s/^method/data = "a"\nmethod/' >later.toml
run "$retort" plan later.toml
expect_code 0
expect_err "results/twice sets covers the examples of data.a"
run "$retort" run later.toml
expect_code 1
run "$retort" list --results results/later --json
expect_out "over the budget of 0.01 that"
run "$retort" run later.toml --results elsewhere/later
expect_code 0

case_name="unpacking the files does not begin a fresh total"
mkdir plain
for file in "$2"/experiments/data/mnist10k/*.gz; do gunzip -c "$file" >"plain/$(basename "$file" .gz)"; done
sed "s,^path.*,path = \"plain\"," later.toml >plain.toml
run "$retort" plan plain.toml
expect_code 0
expect_err "results/twice sets covers the examples of data.a"
run "$retort" run plain.toml sweep.name=plain
expect_code 1
run "$retort" list --results results/plain --json
expect_out "over the budget of 0.01 that"
cd ..
finish
