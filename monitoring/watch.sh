#!/usr/bin/env bash
# Starts a Prometheus with the rules of this folder on one running sweep, and ends it with Ctrl-C.
#   monitoring/watch.sh RESULTS [--port N] [--interval SECONDS] [--auth FILE] [--ca FILE]
# RESULTS is the sweep's results folder. Without --port: the next free one from 9090. What it stores is gone at the end.
# --auth: the file that `retort run --metrics-auth` was given. --ca: certificates to trust, for a sweep with --metrics-tls.
# Exit status: 0 after Ctrl-C or a signal, 2 for a wrong call, 3 where something is missing, else that of Prometheus.
set -euo pipefail
unset CDPATH
umask 077
here="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"

fail() { echo "watch: $1" >&2; exit "${2:-2}"; }
free_port() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
quoted() { printf "'%s'" "${1//\'/\'\'}"; }  # for YAML

results="" port="" interval=5 auth="" ca=""
while [[ $# -gt 0 ]]; do
  [[ $1 =~ [^[:space:]] ]] || fail "an argument is empty"
  [[ $# -lt 2 || $2 =~ [^[:space:]] ]] || fail "what follows $1 is empty"
  case $1 in
    -h|--help) sed -n '2,6p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'; exit 0 ;;
    --port|--interval) [[ $# -ge 2 ]] || fail "$1 needs a number"
      [[ $2 =~ ^[1-9][0-9]{0,4}$ && $2 -le 65535 ]] || fail "$1 $2: not a number from 1 to 65535"
      [[ $1 == --port ]] && port=$2 || interval=$2; shift ;;
    --auth|--ca) [[ $# -ge 2 ]] || fail "$1 needs a file"
      [[ -r $2 && -f $2 ]] || fail "$1 $2: no file that can be read" 3
      [[ $1 == --auth ]] && auth=$2 || ca=$2; shift ;;
    -*) fail "unknown option $1; see monitoring/watch.sh --help" ;;
    *) [[ -z $results ]] || fail "one results folder at a time"; results=$1 ;;
  esac
  shift
done
[[ -n $results ]] || fail "which results folder? monitoring/watch.sh results/quickstart"
seen=$(LC_ALL=C ls -d -- "$results/targets.json" 2>&1) || case $seen in
  *"No such file or directory"*) fail "$results has no targets.json: no sweep was ever run there" ;;
  *) fail "whether a sweep was run in $results cannot be told: $seen" 3 ;;
esac
[[ -f $results/targets.json && -r $results/targets.json ]] || fail "$results/targets.json cannot be read" 3
user="" password=""
if [[ -n $auth ]]; then
  IFS= read -r line <"$auth" || [[ -n $line ]] || fail "--auth $auth: empty" 3
  line=${line%$'\r'}
  [[ $line == ?*:?* ]] || fail "--auth $auth: its first line is not user:password"
  user=${line%%:*} password=${line#*:}
fi
command -v prometheus >/dev/null || fail "prometheus is not installed: apt-get install prometheus" 3
grep -q targets "$results/targets.json" || echo "watch: nothing runs in $results yet; waiting for it" >&2
if [[ -n $port ]]; then
  free_port "$port" || fail "port $port is taken" 3
else
  for ((port = 9090; port < 9154; ++port)); do free_port "$port" && break; done
  [[ $port -lt 9154 ]] || fail "the ports from 9090 to 9153 are taken; name another with --port" 3
fi

# Prometheus takes some characters of a path for patterns; links have plain names.
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
ln -s "$(realpath -- "$results")" "$work/results"
ln -s "$here/rules" "$work/rules"
[[ -z $ca ]] || ln -s "$(realpath -- "$ca")" "$work/ca.pem"
{
  cat <<YAML
global: { scrape_interval: ${interval}s, evaluation_interval: ${interval}s }
rule_files: [rules/*.yml]
scrape_configs:
  - job_name: retort
    file_sd_configs: [{ files: [results/targets.json], refresh_interval: ${interval}s }]
YAML
  [[ -z $ca ]] || echo "    tls_config: { ca_file: ca.pem }"
  [[ -z $auth ]] || echo "    basic_auth: { username: $(quoted "$user"), password: $(quoted "$password") }"
} >"$work/prometheus.yml"

server="" stopped=""
stop() {
  stopped=yes
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
}
trap stop INT TERM HUP
echo "Prometheus at http://127.0.0.1:$port (alerts at /alerts); Ctrl-C ends it"
cd "$work"
prometheus --config.file=prometheus.yml --storage.tsdb.path=data --log.level=warn --web.listen-address="127.0.0.1:$port" &
server=$!
[[ -z $stopped ]] || stop
code=0
wait "$server" || code=$?
while kill -0 "$server" 2>/dev/null; do  # a signal interrupted the wait
  code=0
  wait "$server" || code=$?
done
[[ -z $stopped ]] || exit 0
fail "prometheus has ended by itself, with $code" $((code == 0 ? 1 : code))
