#!/usr/bin/env bash
# From nothing to a trained network: installs, builds, starts pullbackd, asks it for one gradient and
# trains on handwritten digits through the Python client. Exits 0 when all of it worked.
#
#   deploy/run.sh [--serve] [--help]
#
#   --serve   after the demonstration keep the server in the foreground, until SIGINT or SIGTERM
#
# PULLBACK_HOST (127.0.0.1) and PULLBACK_GRPC_PORT (a free port) say where the server listens;
# PULLBACK_JOBS bounds the build (all cores).
set -euo pipefail
self=$(realpath "${BASH_SOURCE[0]}")
cd "$(dirname "$self")/.."

serve=0
for argument in "$@"; do
  case $argument in
    --serve) serve=1 ;;
    -h | --help) sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$self"; exit 0 ;;
    *) echo "run: no option $argument; see --help" >&2; exit 2 ;;
  esac
done

say() { printf '\n==== [%5d s] %s ====\n' "$SECONDS" "$*"; }

server=
scratch=$(mktemp -d)
stop_server() {
  if [[ -n $server ]] && kill -TERM "$server" 2>/dev/null; then
    wait "$server" || true
  fi
  server=
}
trap 'stop_server; rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say install
deploy/install.sh

say build
cmake --preset release
build_options=(-j "${PULLBACK_JOBS:-$(nproc)}")
cmake --build --preset release "${build_options[@]}" --target pullbackd pullback

say python
python3 -m venv build/venv
build/venv/bin/pip install -q ./client/python numpy

say server
host=${PULLBACK_HOST:-127.0.0.1}
grpc_port=${PULLBACK_GRPC_PORT:-$(python3 -c '
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')}
near=$host
[[ $near == 0.0.0.0 ]] && near=127.0.0.1
build/bin/pullbackd --host "$host" --grpc-port "$grpc_port" >"$scratch/server.log" 2>&1 &
server=$!

ready() { build/bin/pullback info --server "$near:$grpc_port" >/dev/null 2>&1; }
for attempt in $(seq 1 101); do
  if ready; then break; fi
  if ! kill -0 "$server" 2>/dev/null || ((attempt > 100)); then
    echo "run: the server did not become ready" >&2
    cat "$scratch/server.log" >&2
    exit 1
  fi
  sleep 0.2
done
echo "pullbackd (pid $server) serves gRPC on $near:$grpc_port"

say "first gradient: d/dx x^3 at 2"
build/bin/pullback eval docs/examples/pow.pull -e pow -t value_and_grad \
  -a x=2.0 -a n=3 --server "$near:$grpc_port"

say "training on handwritten digits"
build/venv/bin/python deploy/digits/train.py --server "$near:$grpc_port"

if ((serve)); then
  say "serving on $near:$grpc_port; SIGINT or SIGTERM ends it"
  cat "$scratch/server.log"
  trap 'stop_server; exit 0' INT TERM
  wait "$server"
  exit
fi

say "stopping the server"
pid=$server
kill -TERM "$pid"
server=
status=0
wait "$pid" || status=$?
if ((status != 0)); then
  echo "run: the server ended with $status" >&2
  cat "$scratch/server.log" >&2
  exit 1
fi
echo "done"
