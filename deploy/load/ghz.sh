#!/usr/bin/env bash
# Runs the scenarios of this folder by ghz, which learns the service from the server's reflection.
#
#   deploy/load/ghz.sh [--check] [HOST:PORT [SCENARIO...]]
#
# HOST:PORT defaults to PULLBACK_SERVER, or 127.0.0.1:8001; SCENARIO to every *.json here. --check sends 40 requests
# of each and prints only whether all were answered. A request that fails is exit code 1. GHZ names a ghz; without
# it the version below is built by Go into a temporary folder (exit code 3 where that cannot be done).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
version=v0.120.0

check=0
if [[ ${1:-} == --check ]]; then check=1; shift; fi
case ${1:-} in -h | --help) sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
server=${1:-${PULLBACK_SERVER:-127.0.0.1:8001}}
scenarios=("${@:2}")
((${#scenarios[@]} > 0)) || scenarios=("$here"/*.json)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ghz=${GHZ:-$scratch/ghz}
if [[ ! -x $ghz ]]; then
  minor=$(go version 2>/dev/null | sed -E 's/^go version go1\.([0-9]+).*/\1/')
  if ((${minor:-0} < 20)); then
    echo "ghz: $version needs Go 1.20; Debian 12 has 1.19" >&2
    exit 3
  fi
  if ! GOBIN=$scratch go install "github.com/bojand/ghz/cmd/ghz@$version" 2>"$scratch/go.log"; then
    tail -n 5 "$scratch/go.log" >&2
    echo "ghz: Go cannot build ghz $version here" >&2
    exit 3
  fi
fi

# The kernel that scenarios by kernel id name.
kernel=$("$root/build/bin/pullback" eval "$root/docs/examples/pow.pull" -e pow -t value_and_grad \
  -a x=2 -a n=3 --json --server "$server" | sed -E 's/.*"kernel_id": "([0-9a-f]+)".*/\1/')

failed=0
for scenario in "${scenarios[@]}"; do
  name=$(basename "$scenario" .json)
  sed "s/KERNEL_ID/$kernel/" "$scenario" >"$scratch/scenario.json"
  more=()
  ((check)) && more=(--total 40 --concurrency 2 --connections 2)
  "$ghz" --config "$scratch/scenario.json" --insecure "${more[@]}" --format json \
    --output "$scratch/report.json" "$server"
  python3 - "$name" "$check" "$scratch/report.json" <<'PY' || failed=1
import json, sys
name, check, file = sys.argv[1:]
report = json.load(open(file))
codes = report.get("statusCodeDistribution") or {}
if check == "0":
    at = {p["percentage"]: p["latency"] / 1e3 for p in report.get("latencyDistribution") or []}
    print(f"{name}: {report['rps']:.0f} answers/s, p50 {at.get(50, 0):.0f} us, p99 {at.get(99, 0):.0f} us")
good = report["count"] > 0 and codes == {"OK": report["count"]}
print(f"{name}: {report['count']} answers, {codes}{'' if good else ': FAILED'}")
for message, count in (report.get("errorDistribution") or {}).items():
    print(f"  {count} x {message}")
sys.exit(not good)
PY
done
exit "$failed"
