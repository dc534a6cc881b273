#!/usr/bin/env bash
# Bad input: each mistake is one message with line, column, key and the valid choice; exit 2 or 3; nothing is written.
#   cli_input_test.sh RETORT SOURCE_DIR
set -u
retort="$1"
source_dir="$2"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1

# sweep EDIT…: a good sweep file, changed by sed expressions.
sweep() {
  digits_sweep s.toml "0, 8000" "8000, 9000" "9000, 10000" <<'TOML'
[teacher]
single = { network = "datalens", epochs = 5 }

[trial]
data = "digits"
student = "datalens"
steps = 160
delta = 1e-5

[sweep]
name = "typed"
seeds = [0]
zip.row = [
  { method = "dpdfd", reading = "working", teacher = "single" },
]
TOML
  local edit
  for edit in "$@"; do sed -i "$edit" s.toml; done
}

# mistake NAME LINE:COLUMN TEXT… : `run` must refuse s.toml at that place, with each text, and write nothing.
mistake() {
  case_name="$1"
  local place="$2"
  shift 2
  run "$retort" run s.toml
  expect_code 2
  expect_silent_out
  expect_err "s.toml:$place"
  local text
  for text in "$@"; do expect_err "$text"; done
  expect_no_file results
}

sweep
case_name="good sweep"
run "$retort" plan s.toml
expect_code 0
expect_no_file results

sweep 's/^steps/stepz/';                        mistake "unknown key" "14:1" "stepz" "steps" "^"
sweep 's/^steps = 160/steps = "many"/';         mistake "wrong type" "14:" "many"
sweep 's/^steps = 160/steps = -3/';             mistake "out of range" "14:" "-3"
sweep 's/"dpdfd"/"dpdfg"/';                     mistake "unknown method" "21:" "dpdfg" "dpdfd"
sweep 's/"datalens", epochs/"datalense", epochs/'; mistake "unknown network" "9:" "datalense" "datalens"
sweep 's/^data = "digits"/data = "digit"/';     mistake "unknown data set" "12:" "digit" "digits"
sweep 's/teacher = "single"/teacher = "singel"/'; mistake "unknown teacher" "21:" "singel" "single"
sweep 's/reading = "working"/reading = "wroking"/'; mistake "unknown reading" "21:" "wroking" "working"
sweep 's/^steps = 160/steps = 160 160/';        mistake "syntax" "14:"
sweep 's/public = \[8000/public = [7000/';      mistake "public overlaps train" "6:" "public"
sweep 's/^retort = 1/retort = 99/';             mistake "version" "1:" "99"
sweep 's/test = \[9000, 10000\]/test = [9000, 10001]/'; mistake "range beyond the data" "6:" "10000"
sweep 's/^delta = 1e-5/delta = 2/';             mistake "delta" "15:" "delta"

case_name="an empty value is a mistake"
sweep
for option in --metrics-auth --metrics-tls --metrics-listen --time-limit --grace --profile --results --slots; do
  for words in "$option=" "$option"; do
    if [ "$words" = "$option" ]; then run "$retort" run s.toml "$option" ""; else run "$retort" run s.toml "$words"; fi
    expect_code 2
    expect_silent_out
    expect_err "$option has an empty value"
    expect_no_file results
  done
done
run "$retort" table s.toml ""
expect_code 2
expect_err "an argument is empty"
launch="$source_dir/cluster/launch"
for option in -np --host --hostfile --results; do
  RETORT_MPIRUN=true run "$launch/mpirun.sh" -np 2 "$option" "" retort
  expect_code 2
  expect_err "$option has an empty value"
done
run "$launch/live-hosts.sh" --host ""
expect_code 2
run "$launch/live-hosts.sh" --hostfile " "
expect_code 2
for option in "" --port --auth --ca; do
  run bash "$source_dir/monitoring/watch.sh" . ${option:+"$option"} ""
  expect_code 2
done
run bash "$source_dir/cluster/setup.sh" ""
expect_code 2
SWEEP="" run bash "$launch/slurm.sbatch"
[ "$code" -ne 0 ] || complain "a batch script without a sweep"
worker="$(dirname "$retort")/retort-worker"
if [ -x "$worker" ]; then
  for option in --audit --model-check --report ""; do
    run "$worker" ${option:+"$option"} ""
    expect_code 2
  done
fi

case_name="two mistakes are two messages"
sweep 's/^steps/stepz/' 's/"dpdfd"/"dpdfg"/'
run "$retort" run s.toml
expect_code 2
expect_err "stepz"
expect_err "dpdfg"

case_name="errors as JSON"
sweep 's/^steps/stepz/'
run "$retort" plan s.toml --json
expect_code 2
expect_out '"schema_version": 1'
expect_out '"line": 14'
expect_out '"column": 1'
expect_out '"steps"'
expect_no_err "error"

case_name="override of an axis"
sweep
run "$retort" plan s.toml trial.method=dpsgd
expect_code 2
expect_err "method"

case_name="unknown override"
run "$retort" plan s.toml trial.stepz=3
expect_code 2
expect_err "steps"

case_name="unknown published table"
printf '[table.t]\nrows = ["method"]\npublished = "dpdfd-ijcai23/tabel1"\n' >>s.toml
run "$retort" plan s.toml
expect_code 2
expect_err "table.t.published"
expect_err "dpdfd-ijcai23/table1"
sweep

case_name="unknown profile"
run "$retort" plan s.toml --profile big
expect_code 2
expect_err "big"

case_name="sweep file that is not there"
run "$retort" run nowhere.toml
expect_code 2
expect_err "nowhere.toml"
expect_no_file results

case_name="missing data"
sweep 's#data/mnist10k#data/nowhere#'
run "$retort" run s.toml
expect_code 3
expect_err "s.toml:5:"
expect_err "nowhere"
expect_no_file results

case_name="a variable that is not set"
sweep 's#data/mnist10k#${NO_SUCH_PLACE}/mnist10k#'
run "$retort" plan s.toml
expect_code 0
expect_err "the environment variable NO_SUCH_PLACE is not set; set it, or write the path"
expect_out "MISSING, taken as published"
run "$retort" run s.toml
expect_code 2
expect_err "s.toml:5:"
expect_err "NO_SUCH_PLACE"
expect_no_file results

case_name="truncated data"
mkdir cut
cp data/mnist10k/* cut/
truncate -s 1000 cut/t10k-images-idx3-ubyte.gz
sweep 's#data/mnist10k#cut#'
run "$retort" run s.toml
expect_code 3
expect_err "t10k-images-idx3-ubyte.gz"
expect_no_file results

case_name="unknown command"
run "$retort" stauts
expect_code 2
expect_err "status"

case_name="unknown flag"
run "$retort" status --wach
expect_code 2
expect_err "--wach"

finish
