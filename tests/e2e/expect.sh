# For the tests of this folder: run a program, then say what must be true of it.
#   run CMD…             sets code, out, err; never ends the test
#   expect_code N        expect_out TEXT   expect_err TEXT   expect_file PATH   expect_no_file PATH
#   digits_sweep FILE TRAIN PUBLIC TEST   begins a sweep file over ranges of the digits; stdin goes on
#   finish               the test's exit status
failures=0
case_name=""
# In memory, where there is plenty and nobody asks for another place: half of what a test takes is waiting for a disk to sync.
free="$(stat -f -c '%a*%S' /dev/shm 2>/dev/null || echo 0)"
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] && [ $((free >> 32)) -gt 0 ] && ! grep -q ' /dev/shm .*noexec' /proc/mounts; then
  export TMPDIR=/dev/shm
fi
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
export XDG_CACHE_HOME="$scratch/cache"

run() {
  code=0
  "$@" >"$scratch/.out" 2>"$scratch/.err" || code=$?
  out="$(cat "$scratch/.out")"
  err="$(cat "$scratch/.err")"
}

# Ranges as "0, 256"; PUBLIC may be empty. `source_dir` is the project's.
digits_sweep() {
  [ -e data ] || ln -s "$source_dir/experiments/data" data
  {
    printf 'retort = 1\n\n[data.digits]\nreader = "idx"\npath = "data/mnist10k"\n'
    printf 'split = { shuffle = 1, train = [%s],%s test = [%s] }\n\n' "$2" "${3:+ public = [$3],}" "$4"
    cat
  } >"$1"
}

complain() {
  failures=$((failures + 1))
  printf 'FAILED %s: %s\n--- stdout\n%s\n--- stderr\n%s\n---\n' "$case_name" "$1" "$out" "$err"
}

expect_code() { [ "$code" -eq "$1" ] || complain "exit code $code, not $1"; }
expect_out() { [[ "$out" == *"$1"* ]] || complain "stdout lacks: $1"; }
expect_err() { [[ "$err" == *"$1"* ]] || complain "stderr lacks: $1"; }
expect_no_err() { [[ "$err" != *"$1"* ]] || complain "stderr has: $1"; }
expect_silent_out() { [ -z "$out" ] || complain "stdout is not empty"; }
expect_file() { [ -e "$1" ] || complain "there is no $1"; }
expect_no_file() { [ ! -e "$1" ] || complain "there is a $1"; }
expect_same() { [ "$1" = "$2" ] || complain "differ: [$1] [$2]"; }

finish() {
  [ "$failures" -eq 0 ] && echo "ok" && exit 0
  echo "$failures failures"
  exit 1
}
