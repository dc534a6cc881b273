#!/usr/bin/env bash
# From nothing to the first table: set-up, build, the quickstart sweep on 10,000 real digits, its table.
set -euo pipefail
cd "$(dirname "$0")/.."

bash cluster/setup.sh
mkdir -p build
cmake --preset release >build/configure.log 2>&1 || { cat build/configure.log >&2; exit 3; }
echo "quickstart: building (build/release)" >&2
cmake --build --preset release --target retort retort-worker

retort=build/release/bin/retort
results=results/quickstart
"$retort" run experiments/configs/quickstart.toml --results "$results" "$@"
echo
"$retort" table experiments/configs/quickstart.toml --results "$results"
cat <<END

Where everything lies:
  $results/results.h5      rows, claims, ledger, curves (pandas, h5py, xarray)
  $results/trials/         one folder a trial: curves, samples, students
  $results/ledger.log      every release that was charged
Next:
  $retort show dpdfd-sound-dpsgd --results $results
  $retort run experiments/configs/readings.toml
END
