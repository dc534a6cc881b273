#!/usr/bin/env bash
# One sweep over data sets of several readers: IDX digits and two folders of pictures, and one on a client's share.
# usage: data_sets_test.sh RETORT SOURCE_DIR
set -euo pipefail
retort=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export RETORT_PICTURE_CACHE=$work/cache
cat > "$work/sweep.toml" <<EOF
retort = 1
[data.digits]
reader = "idx"
path = "$source/experiments/data/mnist10k"
split = { shuffle = 1, train = [0, 64], test = [64, 96] }
[data.living]
reader = "pictures"
path = "$source/tests/fixtures/folders/living"
resize = 32
crop = 32
split = { train = [0, 2], test = [2, 3] }
[data.things]
reader = "pictures"
path = "$source/tests/fixtures/folders/things"
size = [28, 28]
split = { train = [0, 2], test = [2, 3] }
[teacher]
single = { network = "logistic", epochs = 1, batch = 2 }
[trial]
teacher = "single"
student = "logistic"
threads = 1
delta = 1e-4
steps = 2
batch = 4
student_steps = 1
student_batch = 4
replay = 0
latent = 8
generator_width = 4
[sweep]
grid.data = ["digits", "living", "things"]
EOF
"$retort" plan "$work/sweep.toml" --results "$work/results" > "$work/plan.txt"
for words in '1×28×28' '3×32×32' '3×28×28'; do
  grep -q "$words" "$work/plan.txt" || { echo "FAILED: $words is not planned"; cat "$work/plan.txt"; exit 1; }
done
"$retort" run "$work/sweep.toml" --results "$work/results" --quiet || { echo "FAILED: the sweep"; exit 1; }
succeeded=$("$retort" list --json --results "$work/results" | grep -o '"state": *"succeeded"' | wc -l)
[ "$succeeded" = 6 ] || { echo "FAILED: $succeeded of 6 trials succeeded"; exit 1; }

digits=$source/experiments/data/mnist10k
"$retort" data clients idx "$digits" --clients 3 --dirichlet 0.3 --held-out 0.25 --seed 4 --out "$work/clients" > /dev/null
sorted=$(cat "$work"/clients/*.txt | grep -v '^#' | sort -n | tr '\n' ' ')
[ "$sorted" = "$(seq 0 9999 | tr '\n' ' ')" ] || { echo "FAILED: the lists do not hold every example once"; exit 1; }
if "$retort" data clients idx "$digits" --clients 2 --out "$work/clients" 2> "$work/refused.txt"; then
  echo "FAILED: lists of two divisions lie side by side"; exit 1
fi
grep -q "client-0.txt is a list of another division" "$work/refused.txt" || { cat "$work/refused.txt"; exit 1; }
sed -e '/^\[data.living\]/,/^\[teacher\]/{/^\[teacher\]/!d}' -e 's/^split = .*/split = { train = "clients\/client-1.txt", test = "clients\/held-out.txt" }/' \
    -e 's/"digits", "living", "things"/"digits"/' "$work/sweep.toml" > "$work/client.toml"
"$retort" run "$work/client.toml" --results "$work/client" --quiet || { echo "FAILED: a client's sweep"; exit 1; }
share=$(grep -vc '^#' "$work/clients/client-1.txt")
"$retort" plan "$work/client.toml" --results "$work/client" > "$work/plan.txt"
tr -d , < "$work/plan.txt" | grep -q "private $share public 0 test 2500" || { echo "FAILED: the shares"; cat "$work/plan.txt"; exit 1; }
echo "data_sets_test: all checks passed"
