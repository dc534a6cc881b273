#!/usr/bin/env bash
# Runs a program under mpirun, Open MPI's or MPICH's, with the settings that Retort needs:
#   cluster/launch/mpirun.sh -np 3 retort run sweep.toml
# Arguments are mpirun's. RETORT_MPIRUN names another mpirun than the one in PATH. RETORT_GRACE_SECONDS (5) is
# for an end that does not come through this script (a killed rank, a signal to mpirun itself): mpirun waits
# that long before it tells the ranks with TERM, and as long again before it kills them.
#
# - The first TERM, INT, HUP, USR1, USR2 or XCPU becomes a USR1 to every rank, once all ranks can take it: they save their
#   state and leave. mpirun itself would give them a moment, and kill them on a second signal.
# - A second one is passed on the same way: the ranks leave at once. A third kills the job.
# - The exit code is the one that world rank 0 wrote; every rank ends with 0, since mpirun ends the whole
#   job when one does not. When a rank or a host is lost, rank 0 still saves and says 75; where it could not,
#   the code is above 128. until-complete.sh then starts the job again. 3: mpirun could not start the ranks, or
#   rank 0 is on a host that shares neither this folder nor that of --results, so that its word is not known.
# - Hosts given by --hostfile or --host that do not answer are left out, and -np is lowered to what is left.
#   A host that falls silent ends the job after 25 s (Open MPI's own value is 8 minutes).
# - MPICH's mpirun (Hydra) kills the job where a rank or a host is lost, and does not wait: the code is 137, and what was
#   saved before goes on.
# - On one host the ranks talk through shared memory and open no port; mpirun itself always listens for its
#   daemons on other hosts.
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
hydra=0
case $("$mpirun" --version 2>/dev/null </dev/null) in *HYDRA*) hydra=1 ;; esac

# shellcheck source=child-process.sh
. "$(dirname "$(readlink -f "$0")")/child-process.sh" || exit 3

state=$(mktemp -d "${TMPDIR:-/tmp}/retort-mpirun.XXXXXX") || exit 3
word_folder=$state
trap 'rm -rf "$state" "$word_folder"' EXIT

# --bind-to none: otherwise every rank and its workers share one core. The single-copy mechanism needs a
# right that containers mostly withhold, and our messages are small.
if [ "$hydra" -eq 1 ]; then
  options=(-bind-to none)
else
  options=(--bind-to none --oversubscribe
    --mca odls_base_sigkill_timeout "${RETORT_GRACE_SECONDS:-5}"
    --mca oob_tcp_keepalive_time 10 --mca oob_tcp_keepalive_intvl 3 --mca oob_tcp_keepalive_probes 5
    --mca btl_vader_single_copy_mechanism none)
  if [ "$(id -u)" -eq 0 ]; then options+=(--allow-run-as-root); fi
fi
export HWLOC_HIDE_ERRORS=${HWLOC_HIDE_ERRORS:-2}

# Which hosts, how many ranks; and the results folder, where rank 0 writes the exit code too.
hosts=""    # the option that names them
host_at=0
count_at=0
several_hosts=0
own_transport=0
results=""
arguments=("$@")
for ((i = 1; i < $#; i++)); do
  value=${arguments[i]}
  case ${arguments[i - 1]} in
    --hostfile | -hostfile | --machinefile | -machinefile | --host | -host | -H | -np | --np | -n | --n | -c | --results)
      case $value in *[![:space:]]*) ;; *) echo "$0: ${arguments[i - 1]} has an empty value" >&2 && exit 2 ;; esac ;;
  esac
  case ${arguments[i - 1]} in
    --hostfile | -hostfile | --machinefile | -machinefile) hosts=--hostfile host_at=$i ;;
    --host | -host | -H) hosts=--host host_at=$i ;;
    -np | --np | -n | --n | -c) if [ "$count_at" -eq 0 ]; then count_at=$i; fi ;;
    --mca | -mca)
      case $value in btl) own_transport=1 ;; plm_rsh_agent) export RETORT_LAUNCH_AGENT=${arguments[i + 1]:-} ;; esac ;;
    --results) results=$value ;;
  esac
  case $value in --results=*) results=${value#--results=} ;; esac
done
if [ -n "$hosts" ]; then
  "$(dirname "$0")/live-hosts.sh" "$hosts" "${arguments[host_at]}" >"$state/hosts" || exit
  arguments[host_at - 1]=--hostfile
  arguments[host_at]="$state/hosts"
  places=$(sed 's/.*slots=//' "$state/hosts" | paste -sd+ | { read -r sum; echo $((sum)); })
  if [ "$count_at" -gt 0 ] && [ "${arguments[count_at]}" -gt "$places" ] 2>/dev/null; then
    echo "$0: ${arguments[count_at]} ranks were asked for, the hosts have room for $places" >&2
    arguments[count_at]=$places
  fi
  if [ "$(wc -l <"$state/hosts")" -gt 1 ] || ! grep -q "^$(hostname) \|^localhost " "$state/hosts"; then
    several_hosts=1
  fi
  if [ "$hydra" -eq 1 ]; then
    sed -i 's/ slots=/:/' "$state/hosts"
    arguments[host_at - 1]=-f
  fi
elif [ "${SLURM_JOB_NUM_NODES:-1}" -gt 1 ] || [ -n "${LSB_HOSTS:-}" ]; then
  several_hosts=1
fi
if [ "$several_hosts" -eq 0 ] && [ "$own_transport" -eq 0 ] && [ "$hydra" -eq 0 ]; then options+=(--mca btl "self,vader"); fi

# Rank 0 may be on another host: it writes into this folder, which the hosts mostly share, as they share the results.
if [ "$several_hosts" -eq 1 ]; then
  word_folder=$(mktemp -d "$PWD/.retort-mpirun.XXXXXX" 2>/dev/null) || word_folder=$state
  if [ "$hydra" -eq 0 ]; then options+=(-x RETORT_EXIT_CODE_FILE); fi    # Hydra passes all variables on
fi
export RETORT_EXIT_CODE_FILE="$word_folder/exit-code"
ready="$RETORT_EXIT_CODE_FILE.ready"

# A session of its own: Ctrl-C in the terminal reaches this script alone. If this script is killed, mpirun
# goes with it, and the ranks with mpirun.
setsid setpriv --pdeathsig KILL -- "$mpirun" "${options[@]}" "${arguments[@]}" </dev/null &
job=$!

trap 'received=$((received + 1))' TERM INT USR1 USR2 HUP
trap 'if [ "$received" -eq 0 ]; then received=1; fi' XCPU    # the kernel repeats it once a second

sent=0
waited=0    # tenths of a second, for the ranks to get ready
said_at=""  # when rank 0 was seen to have written its exit code
while kill -0 "$job" 2>/dev/null; do
  if [ "$received" -ge 3 ]; then
    kill -KILL "$job" 2>/dev/null
    break
  fi
  # Rank 0 has ended the run, and the ranks meet for ten seconds at most: after that mpirun alone is left,
  # waiting for a host that is gone. After a second signal nobody waits for anybody.
  if [ -s "$RETORT_EXIT_CODE_FILE" ]; then
    said_at=${said_at:-$SECONDS}
    patience=15
    if [ "$received" -ge 2 ]; then patience=2; fi
    if [ $((SECONDS - said_at)) -ge "$patience" ]; then
      kill -KILL "$job" 2>/dev/null
      break
    fi
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
    interruptible_sleep 0.5
  fi
done
wait "$job"
code=$?
while [ "$code" -gt 128 ] && kill -0 "$job" 2>/dev/null; do    # a signal interrupted the wait
  wait "$job"
  code=$?
done

# A network file system may show another host's file a moment later; to list the folder asks for it.
for ((i = 0; several_hosts == 1 && i < 20; i++)); do
  if ls "$word_folder" | grep -qx exit-code; then break; fi
  sleep 0.2
done
if [ -s "$RETORT_EXIT_CODE_FILE" ]; then
  read -r code <"$RETORT_EXIT_CODE_FILE"
elif [ "$code" -le 128 ]; then
  if [ -n "$results" ] && [ "$results/exit-code" -nt "$state" ]; then
    read -r code <"$results/exit-code"
  elif [ -e "$ready" ]; then
    # Rank 0 was there and had no last word.
    echo "$0: the job was lost (mpirun ended with $code); what was reached is saved" >&2
    code=137
  elif [ "$code" -ne 0 ]; then
    echo "$0: mpirun ended with $code before the run began; its own message says why" >&2
    code=3
  elif [ "$several_hosts" -eq 1 ]; then
    echo "$0: the job has ended, but rank 0's last word is not known: its host does not see $PWD." \
      "Start it in a folder that all hosts share, or give --results with such a folder; \`retort status\` says what is done." >&2
    code=3
  fi
fi
exit "$code"
