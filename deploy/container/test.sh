#!/usr/bin/env bash
# Builds the image of deploy/container/Dockerfile and runs it, without a container engine: buildah takes the
# Dockerfile's steps, on a Debian that mmdebstrap makes; the server runs in a mount namespace, with the image's
# environment, entry point and user, a read-only root and a cache volume. Root is needed.
#
#   deploy/container/test.sh [--prebuilt]
#
# --prebuilt: the first stage is not built; build/bin/pullbackd and pullback of this tree are put in its place.
# Prints the image's size and the time from start to ready. Exit codes: 0; 1 what failed is said; 2 usage.
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.."

prebuilt=0
case ${1-} in
  '') ;;
  --prebuilt) prebuilt=1 ;;
  --help) sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
  *) echo "usage: deploy/container/test.sh [--prebuilt]" >&2; exit 2 ;;
esac

scratch=$(mktemp -d)
server=
# shellcheck disable=SC2317
finish() {
  [[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
  buildah_ rm --all >/dev/null 2>&1 || true
  umount -R "$scratch/store" 2>/dev/null || true
  rm -rf --one-file-system "$scratch"
}
trap finish EXIT

buildah_() {
  BUILDAH_ISOLATION=chroot buildah --storage-driver vfs --root "$scratch/store" --runroot "$scratch/run" "$@"
}
fail() { echo "FAILED: $*" >&2; exit 1; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
now_ms() { date +%s%3N; }

build_image() {
  mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$scratch/base.tar"
  local base
  base=$(buildah_ from scratch)
  buildah_ add -q "$base" "$scratch/base.tar" / >/dev/null
  buildah_ config --cmd bash "$base"
  buildah_ commit -q "$base" docker.io/library/debian:bookworm-slim >/dev/null
  rm "$scratch/base.tar"
  local stage=()
  if ((prebuilt)); then
    [[ -x build/bin/pullbackd ]] || fail "build/bin/pullbackd is not there: deploy/test.sh build makes it"
    mkdir -p "$scratch/stage/src/build/bin"
    strip -o "$scratch/stage/src/build/bin/pullbackd" build/bin/pullbackd
    strip -o "$scratch/stage/src/build/bin/pullback" build/bin/pullback
    stage=(--build-context "build=$scratch/stage")
  fi
  buildah_ bud -q --format docker --pull-never "${stage[@]}" -f deploy/container/Dockerfile -t pullback . \
    >"$scratch/build.log" 2>&1 || { tail -n 30 "$scratch/build.log"; fail "the image did not build"; }
}

# config FIELD: of the image, a line for each element.
config() {
  buildah_ inspect --type image pullback |
    python3 -c 'import json, sys
value = json.load(sys.stdin)["Docker"]["config"].get(sys.argv[1]) or []
if isinstance(value, dict): value = value["Test"][1:]  # of Healthcheck: the command, after CMD
print("\n".join(value if isinstance(value, list) else [value]))' "$1"
}

# in_image COMMAND...: as the image's user, in its read-only root, with the volume and a process's usual mounts.
in_image() {
  env -i "${environment[@]}" unshare --mount --pid --fork --kill-child --propagation private \
    sh -c 'root=$1 cache=$2 user=$3; shift 3
      mount --bind "$root" "$root" && mount -o remount,bind,ro "$root" &&
      mount --bind "$cache" "$root/var/cache/pullback" &&
      mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
      exec chroot --userspec="$user" "$root" "$@"' sh "$root" "$scratch/cache" "$user" "$@"
}

start_server() {
  local begin
  begin=$(now_ms)
  in_image "${entry[@]}" >"$scratch/server.log" 2>&1 &
  server=$!
  until [[ $(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$http/readyz") == 200 ]]; do
    kill -0 "$server" 2>/dev/null || { cat "$scratch/server.log"; fail "the server ended"; }
    (($(now_ms) - begin < 30000)) || fail "not ready within 30 s"
    sleep 0.005
  done
  ready=$(($(now_ms) - begin))
}

# unshare, which stands between, waits for the process and gives its status.
stop_server() {
  local status=0
  kill -TERM "$(pgrep -P "$(pgrep -P "$server")")"
  wait "$server" || status=$?
  server=
  ((status == 0)) || { cat "$scratch/server.log"; fail "SIGTERM: exit status $status instead of a drain"; }
}

gradient() {
  in_image /usr/local/bin/pullback eval - -e f -t value_and_grad -a x=2.0 --tier llvm --json \
    --server "127.0.0.1:$grpc" <<<'fn f(x: f64) -> f64 { return x * x * x }'
}

echo "building the image"
build_image
container=$(buildah_ from --pull-never pullback)
root=$(buildah_ mount "$container")
user=$(config User)
grpc=$(free_port) http=$(free_port)
mapfile -t environment < <(config Env)
environment+=("PULLBACK_GRPC_PORT=$grpc" "PULLBACK_HTTP_PORT=$http" "PULLBACK_HOST=127.0.0.1" "PULLBACK_HTTP_HOST=127.0.0.1")
mapfile -t entry < <(config Entrypoint)
mapfile -t health < <(config Healthcheck)
mkdir -m 0700 "$scratch/cache" && chown "$user" "$scratch/cache"

echo "image: $(du -sm --apparent-size "$root" | cut -f1) MB unpacked"
[[ $user != 0* && $user != root* ]] || fail "the image runs as root"
in_image /usr/bin/touch /x 2>/dev/null && fail "the root can be written"

start_server
echo "ready after $ready ms"
[[ $(curl -s "http://127.0.0.1:$http/healthz" -o /dev/null -w '%{http_code}') == 200 ]] || fail "/healthz"
answer=$(gradient) || fail "no gradient"
[[ $answer == *'"value": 8.0, "gradients": {"x": 12.0}'* ]] || fail "the gradient is $answer"
((${#health[@]} == 3)) || fail "the health check's command is ${health[*]}"
in_image "${health[@]}" || fail "the health check's command"
stop_server
in_image "${health[@]}" 2>/dev/null && fail "the health check passes without a server"
# By variables, which the health check has, too.
mkdir "$scratch/cache/tls"
tests/support/certificates.sh "$scratch/cache/tls" a 2>/dev/null
chown -R "$user" "$scratch/cache/tls"
environment+=("PULLBACK_TLS_CERT=/var/cache/pullback/tls/a.crt" "PULLBACK_TLS_KEY=/var/cache/pullback/tls/a.key")
start_server
in_image "${health[@]}" || fail "the health check's command where gRPC speaks TLS"
stop_server
rm -r "$scratch/cache/tls"
environment=("${environment[@]:0:${#environment[@]}-2}")
start_server
gradient >/dev/null || fail "no gradient after a restart"
curl -s "http://127.0.0.1:$http/metrics" >"$scratch/metrics"
grep -q 'pullback_cache_requests_total{.*disk.*hit.*} [1-9]' "$scratch/metrics" ||
  { grep cache_requests "$scratch/metrics"; fail "the cache volume gave nothing after a restart"; }
stop_server
echo "passed: user $user, root read-only, health check with and without TLS"
echo "drained three times, answered from the cache volume after a restart"
