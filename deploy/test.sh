#!/usr/bin/env bash
# Builds Pullback and runs every check, on a fresh Debian 12 machine or on one that has it all.
#
#   deploy/test.sh [--help] [section...]
#
# Sections, in this order; all of them but tidy, gpu and container when none is named:
#   install  packages (deploy/install.sh)
#   format   clang-format --dry-run over the C++ sources
#   build    the release preset, into build/
#   tidy     clang-tidy over the sources (a quarter of an hour on two cores)
#   ctest    all tests
#   ptxas    every kernel for a GPU through NVIDIA's assembler, where it can be had (no GPU is needed)
#   python   the Python client's tests, from a fresh virtual environment
#   node     the example in Node, against a server of its own
#   go       the example in Go, its stubs generated anew, likewise
#   ghz      the scenarios of deploy/load by ghz and reflection, shortly; skipped where Go cannot build ghz
#   asan     the tests of core and proto but those tagged [long], and random programs, compiled ones too, under ASan
#            and UBSan, into build-asan/
#   fuzz     each fuzz target for PULLBACK_FUZZ_SECONDS (60) seconds, from build-asan/
#   gpu      the bundle of tests for a GPU is packed, and started in an empty root (as root)
#   container  the image of deploy/container, built and run without a container engine (as root; minutes of downloads)
# PULLBACK_JOBS bounds how many jobs run at once (all cores). PULLBACK_ASAN_PROGRAMS: how many random
# programs the sanitizers see (150).
set -euo pipefail
self=$(realpath "${BASH_SOURCE[0]}")
cd "$(dirname "$self")/.."

jobs=${PULLBACK_JOBS:-$(nproc)}
fuzz_seconds=${PULLBACK_FUZZ_SECONDS:-60}
sections=(install format build tidy ctest ptxas python node go ghz asan fuzz gpu container)
defaults=(install format build ctest ptxas python node go ghz asan fuzz)
failed=()
chosen=()
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

section_install() { deploy/install.sh; }

section_format() {
  # Tracked files and new ones alike; build folders are ignored by git and so not looked at.
  local unformatted
  unformatted=$(git ls-files -z --cached --others --exclude-standard -- '*.cc' '*.h' |
    xargs -0 -P "$jobs" -n 16 bash -c 'for file; do
      [[ ! -f $file ]] || clang-format-19 --dry-run --Werror "$file" 2>/dev/null || echo "$file"
    done' _)
  [[ -z $unformatted ]] && return 0
  echo "not as clang-format-19 -i would write them:"
  echo "$unformatted"
  return 1
}

section_build() {
  cmake --preset release
  cmake --build --preset release -j "$jobs"
}

section_tidy() {
  # File by file, where the other builds take eight together: so each is held to include what it uses.
  cmake --preset release -B build-tidy -DCMAKE_UNITY_BUILD=OFF -DPULLBACK_TESTS=OFF
  cmake --build build-tidy -j "$jobs" --target pb_std pb_rpc pb_proto gen/core/lang/prelude_text.cc \
    CMakeFiles/pb_jit_llvm.dir/cmake_pch.hxx.pch CMakeFiles/pb_server.dir/cmake_pch.hxx.pch
  git ls-files -- 'core/*.cc' 'jit/*.cc' 'server/*.cc' 'client/*.cc' |
    xargs run-clang-tidy-19 -p build-tidy -j "$jobs" -quiet -warnings-as-errors='*' \
      >"$scratch/tidy.log" 2>&1 && return 0
  grep -E '(warning|error):' "$scratch/tidy.log" | sort -u
  return 1
}

section_ctest() {
  local status=0
  ctest --test-dir build --output-on-failure -j "$jobs" 2>&1 |
    tee "$scratch/ctest.log" || status=$?
  return "$status"
}

section_ptxas() {
  python3 -m venv "$scratch/nvcc"
  if ! "$scratch/nvcc/bin/pip" install -q --no-deps 'nvidia-cuda-nvcc-cu12==12.9.86'; then
    echo "SKIPPED: ptxas cannot be had here"
    return 0
  fi
  PULLBACK_SOURCE_DIR=$PWD PULLBACK_PTXAS=$(find "$scratch/nvcc" -name ptxas -type f | head -n 1) \
    build/bin/test_jit_programs "On a device: ptxas*"
}

section_gpu() { deploy/gpu_bundle.sh --check; }

section_python() {
  if [[ ! -d client/python/tests ]]; then
    echo "no client/python/tests: nothing to do"
    return 0
  fi
  python3 -m venv "$scratch/venv"
  "$scratch/venv/bin/pip" install -q ./client/python pytest
  PULLBACK_SOURCE_DIR=$PWD PULLBACK_BIN_DIR=$PWD/build/bin \
    "$scratch/venv/bin/python" -m pytest -q client/python/tests
}

# with_server COMMAND...: runs it with PULLBACK_SERVER naming a pullbackd that ends with it.
with_server() {
  local log=$scratch/server.log pid status=0 address=
  : >"$log"  # that of the server before is not to be read
  build/bin/pullbackd --grpc-port 0 >"$log" 2>&1 &
  pid=$!
  for _ in $(seq 300); do
    address=$(sed -n 's/.* listening address=\([^ ]*\).*/\1/p' "$log")
    [[ -n $address ]] && break
    sleep 0.1
  done
  PULLBACK_SERVER=$address "$@" || status=$?
  kill "$pid" && wait "$pid" || true
  ((status == 0 || status == 3)) || cat "$log"
  return "$status"
}

section_node() {
  (cd client/node && npm ci --no-audit --no-fund --ignore-scripts)
  with_server env -C client/node npm test
}

section_go() {
  (cd client/go && ./generate.sh && go vet .)
  with_server env -C client/go go test -count=1 .
}

section_ghz() {
  local status=0
  with_server deploy/load/ghz.sh --check || status=$?
  if ((status == 3)); then
    echo "SKIPPED: no ghz, so the scenarios of deploy/load were NOT checked"
    return 0
  fi
  return "$status"
}

section_asan() {
  cmake --preset asan
  local targets
  mapfile -t targets < <(cmake --build build-asan --target help |
    sed -nE 's/^(test_(core|proto)[a-z_0-9]*): phony$/\1/p' | sort -u)
  if ((${#targets[@]} == 0)); then
    echo "no tests of core or proto: nothing to do"
    return 0
  fi
  cmake --build build-asan -j "$jobs" --target "${targets[@]}" test_jit_language
  UBSAN_OPTIONS=print_stacktrace=1 \
    ctest --test-dir build-asan --output-on-failure -j "$jobs" -R '^test_(core|proto)'
  UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1 PULLBACK_SEED=200000 \
    PULLBACK_PROGRAMS="${PULLBACK_ASAN_PROGRAMS:-150}" PULLBACK_COMPILE_EACH=10 \
    build-asan/bin/test_jit_language "generated programs over the whole language" | tail -n 20
}

section_container() {
  DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends buildah curl mmdebstrap procps
  deploy/container/test.sh --prebuilt
}

section_fuzz() {
  if ! compgen -G 'tests/fuzz/*_fuzz.cc' >/dev/null; then
    echo "no fuzz targets: nothing to do"
    return 0
  fi
  cmake --preset asan
  cmake --build build-asan -j "$jobs" --target fuzzers
  local target name
  mkdir -p build-asan/corpus
  for target in build-asan/bin/*_fuzz; do
    name=$(basename "$target")
    mkdir -p "build-asan/corpus/$name"
    printf '%s\0' "$name"
  done | xargs -0 -P "$jobs" -I{} bash -c '
    seeds=(); [[ -d tests/fuzz/corpus/{} ]] && seeds=(tests/fuzz/corpus/{})
    if build-asan/bin/{} -max_total_time='"$fuzz_seconds"' -timeout=25 -rss_limit_mb=4096 \
        -artifact_prefix=build-asan/{}- build-asan/corpus/{} "${seeds[@]}" \
        >build-asan/{}.log 2>&1; then
      echo "{}: $(grep -E "^Done" build-asan/{}.log | tail -n1)"
    else
      echo "{}: FAILED"; tail -n 60 build-asan/{}.log; exit 1
    fi'
}

run_section() {
  printf '\n==== [%5d s] %s ====\n' "$SECONDS" "$1"
  # In a subshell with errexit: `if section_x` would switch errexit off inside it.
  local status=0
  set +e
  (set -euo pipefail; "section_$1")
  status=$?
  set -e
  if ((status != 0)); then
    failed+=("$1")
    printf '==== [%5d s] %s FAILED (%d) ====\n' "$SECONDS" "$1" "$status"
    # Nothing after these can say anything useful.
    [[ $1 == install || $1 == build ]] && finish
  fi
  return 0
}

finish() {
  printf '\n==== [%5d s] result ====\n' "$SECONDS"
  if [[ -f $scratch/ctest.log ]]; then
    # What ctest said last, repeated, so that it stands at the end of a long log.
    sed -n '/tests passed,/,$p' "$scratch/ctest.log"
  fi
  if ((${#failed[@]} > 0)); then
    echo "FAILED: ${failed[*]}"
    exit 1
  fi
  echo "all sections passed"
  exit 0
}

while (($# > 0)); do
  case $1 in
    -h | --help) sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$self"; exit 0 ;;
    *)
      [[ " ${sections[*]} " == *" $1 "* ]] || { echo "no section $1; see --help" >&2; exit 2; }
      chosen+=("$1")
      ;;
  esac
  shift
done
((${#chosen[@]} > 0)) || chosen=("${defaults[@]}")
for section in "${chosen[@]}"; do run_section "$section"; done
finish
