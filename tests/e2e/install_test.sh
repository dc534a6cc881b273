#!/usr/bin/env bash
# What cmake --install puts down runs from there.
#   install_test.sh CMAKE BUILD_DIR [mpi]
set -u
cmake="$1"
build="$2"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1

case_name="programs and plug-ins stand together, and a link in bin finds them"
run "$cmake" --install "$build" --prefix "$scratch/prefix"
expect_code 0
for program in retort retort-worker retort-sleeper; do expect_file "prefix/libexec/retort/$program"; done
cat >naps.toml <<'TOML'
retort = 1

[trial]
method = "sleep"
seconds = 0.05
steps = 4

[sweep]
name = "naps"
seeds = [0, 1]
TOML
mv prefix moved
export PATH="$scratch/moved/bin:$PATH"
run retort version --verbose
expect_code 0
run retort run naps.toml --slots 2
expect_code 0
run retort list --where state=succeeded
expect_out "2 trials"
case_name="a worker that trains is found beside it"
run moved/libexec/retort/retort-worker --version
expect_code 0

if [ "${3:-}" = mpi ]; then
  case_name="under the launcher that was installed"
  expect_file moved/libexec/retort/libretort_mpi.so
  run moved/libexec/retort/launch/mpirun.sh -np 2 retort run naps.toml --results results/ranks
  expect_code 0
  run retort status --results results/ranks --json
  expect_out '"finished": true'
fi
finish
