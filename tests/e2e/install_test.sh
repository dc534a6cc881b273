#!/usr/bin/env bash
# What cmake --install puts down runs from there, and finds what came with it.
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

case_name="what comes with the programs is there, and found by its name from any folder"
for file in share/man/man1/retort.1 share/man/man1/retort-run.1 share/bash-completion/completions/retort share/zsh/site-functions/_retort \
  share/fish/vendor_completions.d/retort.fish share/retort/sweep.schema.json share/retort/monitoring/dashboards/overview.json \
  share/retort/monitoring/rules/alerts.yml share/doc/retort/LICENSE bin/retort-worker lib/retort/torch/lib/libtorch_cpu.so; do
  expect_file "moved/$file"
done
mkdir elsewhere
cd elsewhere || exit 1
run retort plan quickstart
expect_code 0
expect_out "$(readlink -f ../moved)/share/retort/experiments/configs/quickstart.toml"
expect_out "10,000 examples"
run retort run smoke --quiet
expect_code 0
run retort plan dpsd/fig9 --profile smoke
expect_code 0
run retort plan quickstrat
expect_code 2
expect_err "dpsd/fig9, "
expect_err "choose: quickstart"
sed 's/"smoke"/"own"/' "../moved/share/retort/experiments/configs/smoke.toml" >smoke.toml
run retort plan smoke
expect_out "Sweep own (smoke.toml)"
cd ..

if [ "${3:-}" = mpi ]; then
  case_name="under the launcher that was installed"
  expect_file moved/libexec/retort/libretort_mpi.so
  expect_file moved/share/retort/mpi/retort_mpi.c
  run moved/libexec/retort/launch/mpirun.sh -np 2 retort run naps.toml --results results/ranks
  expect_code 0
  run retort status --results results/ranks --json
  expect_out '"finished": true'
fi
finish
