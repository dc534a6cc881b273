#!/usr/bin/env bash
# Runs a program under Open MPI's mpirun with the settings that Retort needs:
#   cluster/launch/mpirun.sh -np 3 retort run sweep.toml
# Arguments are mpirun's. RETORT_MPIRUN names another mpirun than the one in PATH. RETORT_GRACE_SECONDS (5) is
# for an end that does not come through this script (a killed rank, a signal to mpirun itself): mpirun waits
# that long before it tells the ranks with TERM, and as long again before it kills them.
#
# - The first TERM, INT or USR1 becomes a USR1 to every rank, once all ranks can take it: they save their
#   state and leave. mpirun itself would give them a moment, and kill them on a second signal.
# - A second one is passed on the same way: the ranks leave at once. A third kills the job.
# - The exit code is the one that world rank 0 wrote; every rank ends with 0, since mpirun ends the whole
#   job when one does not. If mpirun or a rank was killed, the exit code is mpirun's.
set -u

if [ "$#" -eq 0 ]; then
  echo "usage: $0 [mpirun options] PROGRAM [ARGUMENTS]     e.g. $0 -np 3 retort run sweep.toml" >&2
  exit 2
fi
mpirun=${RETORT_MPIRUN:-mpirun}
if ! command -v "$mpirun" >/dev/null; then
  echo "$0: there is no '$mpirun' here. Install Open MPI (apt-get install openmpi-bin), or run retort without it." >&2
  exit 3
fi

state=$(mktemp -d "${TMPDIR:-/tmp}/retort-mpirun.XXXXXX") || exit 3
trap 'rm -rf "$state"' EXIT
export RETORT_EXIT_CODE_FILE="$state/exit-code"
ready="$RETORT_EXIT_CODE_FILE.ready"

# --bind-to none: otherwise every rank and its workers share one core. The single-copy mechanism needs a
# right that containers mostly withhold, and our messages are small.
options=(--bind-to none --oversubscribe
  --mca odls_base_sigkill_timeout "${RETORT_GRACE_SECONDS:-5}"
  --mca btl_vader_single_copy_mechanism none)
if [ "$(id -u)" -eq 0 ]; then options+=(--allow-run-as-root); fi
export HWLOC_HIDE_ERRORS=${HWLOC_HIDE_ERRORS:-2}

# The file that rank 0 writes in the results folder, for a rank 0 on another host.
results=""
previous=""
for argument in "$@"; do
  if [ "$previous" = --results ]; then results=$argument; fi
  case $argument in --results=*) results=${argument#--results=} ;; esac
  previous=$argument
done

# A session of its own: Ctrl-C in the terminal reaches this script alone. If this script is killed, mpirun
# goes with it, and the ranks with mpirun.
setsid setpriv --pdeathsig KILL -- "$mpirun" "${options[@]}" "$@" </dev/null &
job=$!

received=0
trap 'received=$((received + 1))' TERM INT USR1

sent=0
waited=0    # tenths of a second, for the ranks to get ready
while kill -0 "$job" 2>/dev/null; do
  if [ "$received" -ge 3 ]; then
    kill -KILL "$job" 2>/dev/null
    break
  fi
  if [ "$received" -gt "$sent" ]; then
    # A signal before a rank has its handlers would kill it. Without a sign of readiness (rank 0 on
    # another host) ten seconds must do.
    if [ -e "$ready" ] || [ "$waited" -ge 100 ]; then
      kill -USR1 "$job" 2>/dev/null
      sent=$((sent + 1))
    fi
    waited=$((waited + 1))
    sleep 0.1
  else
    # Ends with the job or a signal; the tick is for a signal that came just before.
    sleep 1 >/dev/null 2>&1 &    # holds no pipe of ours open
    wait -n "$job" "$!"
  fi
done
wait "$job"
code=$?
while [ "$code" -gt 128 ] && kill -0 "$job" 2>/dev/null; do    # a signal interrupted the wait
  wait "$job"
  code=$?
done

if [ "$code" -le 128 ]; then
  if [ -s "$RETORT_EXIT_CODE_FILE" ]; then
    read -r code <"$RETORT_EXIT_CODE_FILE"
  elif [ -n "$results" ] && [ "$results/exit-code" -nt "$state" ]; then
    read -r code <"$results/exit-code"
  fi
fi
exit "$code"
