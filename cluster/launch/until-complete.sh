#!/usr/bin/env bash
# Runs a command again and again until the sweep is complete:
#   cluster/launch/until-complete.sh cluster/launch/mpirun.sh -np 3 retort run sweep.toml
# `retort run` resumes, so a try loses no more than the work since its last checkpoints.
#
# The command is started again after 75 (stopped, state saved) and after an end above 128 (mpirun or a rank
# was killed, a host was lost). Any other code is the sweep's own, 130 is a person's second Ctrl-C: both
# end this script with the same code. It ends with 75, and the same command goes on later, when
#   - TERM, INT, HUP, USR1, USR2 or XCPU came: passed on to the command as USR1, a second one as well;
#   - the allocation ends within a minute (RETORT_END_TIME or SLURM_JOB_END_TIME, Unix seconds).
# RETORT_QUICK_TRIES (5): so many tries in a row that came to nothing end it with their code. A try came to nothing when
# it was killed within a minute, or stopped by itself (75) within RETORT_LEAST_SECONDS (20): a time limit that leaves
# no room for the next checkpoint stops every try at once. Between such tries it waits ever longer.
# RETORT_WORKED_FILE: where to write, at the end, how many seconds the tries worked that did not stop so early. The
# batch scripts do not queue a job again that hardly worked.
set -u

if [ "$#" -eq 0 ]; then
  echo "usage: $0 COMMAND [ARGUMENTS]     e.g. $0 cluster/launch/mpirun.sh -np 3 retort run sweep.toml" >&2
  exit 2
fi
most_quick=${RETORT_QUICK_TRIES:-5}
least=${RETORT_LEAST_SECONDS:-20}
end=${RETORT_END_TIME:-${SLURM_JOB_END_TIME:-0}}
case $end in *[!0-9]* | "" | 429496729[45]) end=0 ;; esac

# shellcheck source=child-process.sh
. "$(dirname "$(readlink -f "$0")")/child-process.sh" || exit 3
trap 'received=$((received + 1)); pass_on' TERM INT USR1 USR2 HUP
trap 'if [ "$received" -eq 0 ]; then received=1; pass_on; fi' XCPU    # the kernel repeats it once a second

# No command substitution from here on: bash 5.2 loses a signal, or ends the script, when a trap runs while it parses one.
allocation_is_over() {
  local now
  printf -v now '%(%s)T' -1
  [ "$end" -gt 0 ] && [ $((end - now)) -lt 60 ]
}

pause() {    # seconds; a signal ends it
  interruptible_sleep "$1"
  kill "$!" 2>/dev/null
}

quick=0
try=0
worked=0
leave() {    # exit code
  if [ -n "${RETORT_WORKED_FILE:-}" ]; then echo "$worked" >"$RETORT_WORKED_FILE"; fi
  exit "$1"
}
while :; do
  try=$((try + 1))
  begun=$SECONDS
  "$@" &
  child=$!
  pass_on
  wait_for_child
  took=$((SECONDS - begun))
  hardly=0
  if [ "$code" -eq 75 ] && [ "$received" -eq 0 ] && [ "$took" -lt "$least" ]; then hardly=1; fi
  if [ "$hardly" -eq 0 ]; then worked=$((worked + took)); fi
  if [ "$code" -ne 75 ] && { [ "$code" -le 128 ] || [ "$code" -eq 130 ]; }; then leave "$code"; fi
  if [ "$received" -gt 0 ] || allocation_is_over; then leave 75; fi
  if [ "$hardly" -eq 1 ] || { [ "$code" -ne 75 ] && [ "$took" -lt 60 ]; }; then quick=$((quick + 1)); else quick=0; fi
  if [ "$quick" -ge "$most_quick" ]; then
    echo "$0: try $try ended with $code after $took s, and $((quick - 1)) before it as early: giving up." \
      "What was reached is saved; the messages above say why. More time (--time-limit, the allocation) helps" \
      "where it was too little for a first checkpoint." >&2
    leave "$code"
  fi
  echo "$0: try $try ended with $code; starting it again" >&2
  if [ "$quick" -gt 0 ]; then pause $((quick * quick)); fi
  if [ "$received" -gt 0 ]; then leave 75; fi
done
