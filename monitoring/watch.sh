#!/usr/bin/env bash
# Starts a Prometheus with the rules of this folder on one running sweep, and ends it with Ctrl-C.
#   monitoring/watch.sh RESULTS [--port N] [--interval SECONDS]
# RESULTS is the sweep's results folder. Without --port: the next free one from 9090. What it stores is gone at the end.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

fail() { echo "watch: $1" >&2; exit "${2:-2}"; }
free_port() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

results="" port="" interval=5
while [[ $# -gt 0 ]]; do
  case $1 in
    -h|--help) sed -n '2,4p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'; exit 0 ;;
    --port|--interval) [[ $# -ge 2 ]] || fail "$1 needs a number"
      [[ $2 =~ ^[0-9]+$ ]] || fail "$1 $2: not a number"
      [[ $1 == --port ]] && port=$2 || interval=$2; shift ;;
    -*) fail "unknown option $1; see monitoring/watch.sh --help" ;;
    *) [[ -z $results ]] || fail "one results folder at a time"; results=$1 ;;
  esac
  shift
done
[[ -n $results ]] || fail "which results folder? monitoring/watch.sh results/quickstart"
[[ -f $results/targets.json ]] || fail "$results has no targets.json: no sweep was ever run there"
command -v prometheus >/dev/null || fail "prometheus is not installed: apt-get install prometheus" 3
grep -q targets "$results/targets.json" || echo "watch: nothing runs in $results yet; waiting for it" >&2
if [[ -n $port ]]; then
  free_port "$port" || fail "port $port is taken" 3
else
  for ((port = 9090; port < 9154; ++port)); do free_port "$port" && break; done
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cat >"$work/prometheus.yml" <<YAML
global: { scrape_interval: ${interval}s, evaluation_interval: ${interval}s }
rule_files: ["$here/rules/*.yml"]
scrape_configs:
  - job_name: retort
    file_sd_configs: [{ files: ["$(cd "$results" && pwd)/targets.json"], refresh_interval: ${interval}s }]
YAML
echo "Prometheus at http://127.0.0.1:$port (alerts at /alerts); Ctrl-C ends it"
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" --log.level=warn \
  --web.listen-address="127.0.0.1:$port" &
server=$!
trap 'kill "$server" 2>/dev/null' INT TERM
wait "$server" || true
wait "$server" 2>/dev/null || true
