#!/usr/bin/env bash
# Runs a command again and again until the sweep is complete:
#   cluster/launch/until-complete.sh cluster/launch/mpirun.sh -np 3 retort run sweep.toml
# `retort run` resumes, so a try loses no more than the work since its last checkpoints.
#
# The command is started again after 75 (stopped, state saved) and after an end above 128 (mpirun or a rank
# was killed, a host was lost). Any other code is the sweep's own, 130 is a person's second Ctrl-C: both
# end this script with the same code. It ends with 75, and the same command goes on later, when
#   - TERM, INT or USR1 came: passed on to the command as USR1, a second one as well;
#   - the allocation ends within a minute (RETORT_END_TIME or SLURM_JOB_END_TIME, Unix seconds).
# RETORT_QUICK_TRIES (5): so many tries in a row that were killed within a minute end it with their code.
set -u

if [ "$#" -eq 0 ]; then
  echo "usage: $0 COMMAND [ARGUMENTS]     e.g. $0 cluster/launch/mpirun.sh -np 3 retort run sweep.toml" >&2
  exit 2
fi
most_quick=${RETORT_QUICK_TRIES:-5}
end=${RETORT_END_TIME:-${SLURM_JOB_END_TIME:-0}}
case $end in *[!0-9]* | "" | 429496729[45]) end=0 ;; esac

child=""
stopped=0
trap 'stopped=1; if [ -n "$child" ]; then kill -USR1 "$child" 2>/dev/null; fi' TERM INT USR1

allocation_is_over() { [ "$end" -gt 0 ] && [ $((end - $(date +%s))) -lt 60 ]; }

pause() {    # seconds; a signal ends it
  sleep "$1" >/dev/null 2>&1 &
  wait "$!"
  kill "$!" 2>/dev/null
}

quick=0
try=0
while :; do
  try=$((try + 1))
  begun=$SECONDS
  "$@" &
  child=$!
  wait "$child"
  code=$?
  while kill -0 "$child" 2>/dev/null; do    # a signal interrupted the wait
    wait "$child"
    code=$?
  done
  child=""
  if [ "$code" -ne 75 ] && { [ "$code" -le 128 ] || [ "$code" -eq 130 ]; }; then exit "$code"; fi
  if [ "$stopped" -eq 1 ] || allocation_is_over; then exit 75; fi
  if [ "$code" -ne 75 ] && [ $((SECONDS - begun)) -lt 60 ]; then quick=$((quick + 1)); else quick=0; fi
  if [ "$quick" -ge "$most_quick" ]; then
    echo "$0: try $try ended with $code, like the $((quick - 1)) before it, each within a minute: giving up." \
      "What was reached is saved; the messages above say what killed it." >&2
    exit "$code"
  fi
  echo "$0: try $try ended with $code; starting it again" >&2
  if [ "$quick" -gt 0 ]; then pause $((quick * quick)); fi
  if [ "$stopped" -eq 1 ]; then exit 75; fi
done
