#!/usr/bin/env bash
# Runs a sweep in PBS jobs until it is complete, from the folder it is submitted in:
#   qsub -v SWEEP=experiments/configs/quickstart.toml cluster/launch/pbs.sh
# Adapt the #PBS lines to the site: mpiprocs is the number of ranks on a host, one for each GPU, or 1 for all of
# its GPUs. Further options of `retort run` go into RETORT_ARGUMENTS, separated by spaces; qsub wants a value with
# commas quoted once more: -v "SWEEP=s.toml,RETORT_ARGUMENTS='sweep.seeds=[0,1]'".
#
# PBS gives no warning before the walltime ends, so `retort run` is told when that is (RETORT_END_TIME) and stops,
# saved, before it. With work left, this script submits itself again, to start after this job, with the variables,
# the queue, the account and the resources that this job was given. Not when it was deleted or pre-empted (TERM; what
# was reached is saved, and PBS itself queues a pre-empted job), nor when its tries worked for less than
# RETORT_LEAST_SECONDS (20) together, as it would go on so for ever.
# RETORT_WALLTIME_SECONDS says how long the job may take where neither PBS_WALLTIME nor qstat does.
# RETORT_PBS_VARIABLES is the script's own: the file with which it hands its variables to the next job.
#PBS -N retort
#PBS -l select=1:ncpus=2:mpiprocs=1
#PBS -l walltime=04:00:00
#PBS -j oe
#PBS -r y
set -u

began=$(date +%s)
cd "${PBS_O_WORKDIR:-$PWD}" || exit 3
handed_over=${RETORT_PBS_VARIABLES:-}
# shellcheck disable=SC1090
if [ -n "$handed_over" ]; then . "./$handed_over" || exit 3; fi
: "${SWEEP:?set SWEEP to the sweep file (qsub -v SWEEP=...)}"
retort=${RETORT:-build/release/bin/retort}

job=""
if [ -n "${PBS_JOBID:-}" ] && command -v qstat >/dev/null; then    # qstat breaks long lines with a tab
  job=$(qstat -f "$PBS_JOBID" | sed -e ':join' -e 'N' -e '$!b join' -e 's/\n\t//g')
fi
attribute_of_job() { sed -n "s/^ *$1 = //p" <<<"$job"; }

seconds_of() {    # [[H:]M:]S in seconds; nothing when it is no time
  local part total=0
  local IFS=:
  if [ -z "$1" ]; then return; fi
  for part in $1; do
    case $part in '' | *[!0-9]*) return ;; esac
    total=$((total * 60 + 10#$part))
  done
  echo "$total"
}

walltime=${RETORT_WALLTIME_SECONDS:-${PBS_WALLTIME:-$(seconds_of "$(attribute_of_job Resource_List.walltime)")}}
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

# shellcheck source=child-process.sh
. cluster/launch/child-process.sh || exit 3
cancelled=0
trap 'received=$((received + 1)); pass_on' USR1 USR2 HUP
trap 'if [ "$received" -eq 0 ]; then received=1; pass_on; fi' XCPU    # the kernel repeats it once a second
trap 'received=$((received + 1)); cancelled=1; pass_on' TERM INT

worked=$(mktemp "${TMPDIR:-/tmp}/retort-worked.XXXXXX") || exit 3
trap 'rm -f "$worked"' EXIT
read -r -a arguments <<<"${RETORT_ARGUMENTS:-}"
RETORT_WORKED_FILE=$worked cluster/launch/until-complete.sh cluster/launch/mpirun.sh -np "$ranks" "${hosts[@]}" \
  "$retort" run "$SWEEP" "${arguments[@]}" &
child=$!
pass_on
wait_for_child

# A file, since qsub -v takes a comma in a value for the end of it.
write_variables() {
  local name
  for name in SWEEP $(compgen -e | grep '^RETORT' | grep -vx 'RETORT_END_TIME\|RETORT_PBS_VARIABLES'); do
    printf 'export %s=%q\n' "$name" "${!name}"
  done
}

# The options of this job that the #PBS lines may not have.
options=()
add_option() {    # option, its attribute of the job, what stands before the value
  local value
  value=$(attribute_of_job "$2")
  if [ -n "$value" ] && [ "$value" != _pbs_project_default ]; then options+=("$1" "${3:-}$value"); fi
}

submit_again() {
  if [ -z "$handed_over" ]; then handed_over=$(mktemp ".retort-pbs-$PBS_JOBID.XXXXXX") || return; fi
  write_variables >"$handed_over" || return
  add_option -q queue
  add_option -A Account_Name
  add_option -P project
  add_option -N Job_Name
  add_option -l Resource_List.walltime walltime=
  add_option -l Resource_List.select select=
  add_option -l Resource_List.place place=
  if [ -z "$(attribute_of_job Resource_List.select)" ]; then add_option -l Resource_List.nodes nodes=; fi    # Torque
  qsub "${options[@]}" -W "depend=afterany:$PBS_JOBID" -v "RETORT_PBS_VARIABLES=$handed_over" cluster/launch/pbs.sh
}

if [ "$code" -eq 75 ] && [ "$cancelled" -eq 0 ] && [ -n "${PBS_JOBID:-}" ]; then
  read -r seconds <"$worked"
  if [ "${seconds:-0}" -lt "${RETORT_LEAST_SECONDS:-20}" ]; then
    echo "$0: the walltime left hardly any time to work: ask for more; not submitted again" >&2
  elif ! submit_again; then
    echo "$0: could not submit itself again; go on with the same qsub command" >&2
  fi
elif [ "$code" -ne 75 ] && [ -n "$handed_over" ]; then
  rm -f "$handed_over"
fi
exit "$code"
