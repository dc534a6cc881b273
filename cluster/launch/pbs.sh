#!/usr/bin/env bash
# Runs a sweep in PBS jobs until it is complete, from the folder it is submitted in:
#   qsub -v SWEEP=experiments/configs/quickstart.toml cluster/launch/pbs.sh
# Adapt the #PBS lines to the site: mpiprocs is the number of ranks on a host, one for each GPU, or 1 for all of
# its GPUs. Further options of `retort run` go into RETORT_ARGUMENTS, separated by spaces.
#
# PBS gives no warning before the walltime ends, so `retort run` is told when that is (RETORT_END_TIME) and stops,
# saved, before it. With work left, this script submits itself again, to start after this job; not when it worked
# for less than RETORT_LEAST_SECONDS (20), as it would go on so for ever.
# RETORT_WALLTIME_SECONDS says how long the job may take where neither PBS_WALLTIME nor qstat does.
#PBS -N retort
#PBS -l select=1:ncpus=2:mpiprocs=1
#PBS -l walltime=04:00:00
#PBS -j oe
#PBS -r y
set -u

: "${SWEEP:?set SWEEP to the sweep file (qsub -v SWEEP=...)}"
began=$(date +%s)
retort=${RETORT:-build/release/bin/retort}
cd "${PBS_O_WORKDIR:-$PWD}" || exit 3

seconds_of() {    # [[H:]M:]S in seconds; nothing when it is no time
  local part total=0
  local IFS=:
  for part in $1; do
    case $part in '' | *[!0-9]*) return ;; esac
    total=$((total * 60 + 10#$part))
  done
  echo "$total"
}

walltime=${RETORT_WALLTIME_SECONDS:-${PBS_WALLTIME:-}}
if [ -z "$walltime" ] && [ -n "${PBS_JOBID:-}" ] && command -v qstat >/dev/null; then
  walltime=$(seconds_of "$(qstat -f "$PBS_JOBID" | sed -n 's/^ *Resource_List.walltime = //p')")
fi
if [ -n "$walltime" ]; then
  export RETORT_END_TIME=$((began + walltime))
else
  echo "$0: the walltime is unknown; set RETORT_WALLTIME_SECONDS, or the work since the last checkpoints is lost" >&2
fi

hosts=()
ranks=1
if [ -n "${PBS_NODEFILE:-}" ]; then    # one line for each rank
  hosts=(--hostfile "$PBS_NODEFILE")
  ranks=$(wc -l <"$PBS_NODEFILE")
fi

child=""
trap 'if [ -n "$child" ]; then kill -USR1 "$child" 2>/dev/null; fi' USR1 TERM INT

read -r -a arguments <<<"${RETORT_ARGUMENTS:-}"
cluster/launch/until-complete.sh cluster/launch/mpirun.sh -np "$ranks" "${hosts[@]}" \
  "$retort" run "$SWEEP" "${arguments[@]}" &
child=$!
wait "$child"
code=$?
while kill -0 "$child" 2>/dev/null; do    # a signal interrupted the wait
  wait "$child"
  code=$?
done

if [ "$code" -eq 75 ] && [ -n "${PBS_JOBID:-}" ]; then
  if [ $(($(date +%s) - began)) -lt "${RETORT_LEAST_SECONDS:-20}" ]; then
    echo "$0: the walltime left hardly any time to work: ask for more; not submitted again" >&2
  elif ! qsub -W "depend=afterany:$PBS_JOBID" \
      -v "SWEEP=$SWEEP,RETORT=$retort,RETORT_ARGUMENTS=${RETORT_ARGUMENTS:-}" cluster/launch/pbs.sh; then
    echo "$0: could not submit itself again; go on with the same qsub command" >&2
  fi
fi
exit "$code"
