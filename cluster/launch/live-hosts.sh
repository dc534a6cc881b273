#!/usr/bin/env bash
# Writes an Open MPI hostfile of those hosts that answer, each with its slots:
#   cluster/launch/live-hosts.sh --hostfile FILE | --host HOST[:SLOTS],...
# A host answers when the launch agent (RETORT_LAUNCH_AGENT, else OMPI_MCA_plm_rsh_agent, else ssh) runs `true` there
# within 10 seconds; the host that this runs on always does. The others are named on stderr. Exit 3: none answers.
set -u

read -r -a agent <<<"${RETORT_LAUNCH_AGENT:-${OMPI_MCA_plm_rsh_agent:-ssh}}"
if [ "${agent[0]}" = ssh ]; then agent+=(-o BatchMode=yes -o ConnectTimeout=5); fi

declare -A slots=()
order=()
# A host's name becomes a word of the launch agent and a file here, and its slots are reckoned with: no more than that.
add() {    # host, slots
  case $1 in -* | *[!A-Za-z0-9._:%@-]* | . | .. | '') echo "$0: '$1' is no host" >&2; exit 2 ;; esac
  case $2 in *[!0-9]* | '' | ??????*) echo "$0: host $1: '$2' is no number of slots" >&2; exit 2 ;; esac
  if [ -z "${slots[$1]:-}" ]; then order+=("$1"); fi
  slots[$1]=$((${slots[$1]:-0} + 10#$2))
}

case ${2:-} in *[![:space:]]*) ;; *) set -- ;; esac    # an empty value is none
case ${1:-} in
  --hostfile)
    [ -r "${2:-}" ] || { echo "$0: there is no readable hostfile '${2:-}'" >&2; exit 2; }
    while read -r host options; do
      case $host in '' | '#'*) continue ;; esac
      count=1
      for option in $options; do
        case $option in slots=*) count=${option#slots=} ;; '#'*) break ;; esac
      done
      add "$host" "$count"
    done <"$2" ;;
  --host)
    IFS=, read -r -a named <<<"${2:-}"
    for host in "${named[@]}"; do
      count=1
      case $host in *:*) count=${host##*:} host=${host%:*} ;; esac
      add "$host" "$count"
    done ;;
  *)
    echo "usage: $0 --hostfile FILE | --host HOST[:SLOTS],..." >&2
    exit 2 ;;
esac

is_local() {
  case $1 in localhost | "$(hostname)" | "$(hostname -s 2>/dev/null)" | 127.*) return 0 ;; esac
  return 1
}

answers=$(mktemp -d "${TMPDIR:-/tmp}/retort-hosts.XXXXXX") || exit 3
trap 'rm -rf "$answers"' EXIT
for host in "${order[@]}"; do
  if is_local "$host" || timeout 10 "${agent[@]}" "$host" true </dev/null >/dev/null 2>&1; then : >"$answers/$host"; fi &
done
wait

live=0
for host in "${order[@]}"; do
  if [ -e "$answers/$host" ]; then
    echo "$host slots=${slots[$host]}"
    live=$((live + 1))
  else
    echo "$0: host $host does not answer and is left out" >&2
  fi
done
[ "$live" -gt 0 ] || { echo "$0: no host answers" >&2; exit 3; }
