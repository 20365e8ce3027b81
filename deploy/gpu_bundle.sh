#!/usr/bin/env bash
# Packs the tests that need a GPU with all they need but the NVIDIA driver: the binary, its shared libraries and
# the loader, stripped, in an archive of at most 64 MiB that may be unpacked anywhere.
#
#   deploy/gpu_bundle.sh [--check] [build-folder [archive]]       build, build/pullback-gpu.tar.xz
#
# On the machine with the GPU: tar xf pullback-gpu.tar.xz && pullback-gpu/run. Exit codes of run: 0 all passed,
# 77 skipped since there is no GPU (the reason is said), else how many failed.
# --check also runs the bundle here in a root that holds nothing else; root is needed for that.
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/.."

check=0
if [[ ${1-} == --check ]]; then
  check=1
  shift
fi
build=${1:-build}
archive=${2:-$build/pullback-gpu.tar.xz}
most=$((64 << 20))
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bundle=$scratch/pullback-gpu
mkdir -p "$bundle/bin" "$bundle/lib" "$bundle/tmp"

cp "$build/bin/test_gpu" "$bundle/bin/"
# The driver may still name parts of the C library that are empty now.
libc=$(ldd "$build/bin/test_gpu" | awk '$1 == "libc.so.6" { print $3 }')
{
  ldd "$build/bin/test_gpu" | awk '$2 == "=>" { print $3 } $1 ~ "^/" { print $1 }'
  for part in libdl.so.2 libpthread.so.0 librt.so.1; do echo "$(dirname "$libc")/$part"; done
} | sort -u | while IFS= read -r library; do cp -L "$library" "$bundle/lib/"; done
strip "$bundle/bin/test_gpu"
find "$bundle/lib" -name '*.so*' ! -name 'ld-linux*' -exec strip --strip-unneeded {} +
cat >"$bundle/run" <<'RUN'
#!/bin/sh
# Every argument goes to the tests.
here=$(dirname "$(readlink -f "$0")")
exec "$here/lib/ld-linux-x86-64.so.2" --library-path "$here/lib" "$here/bin/test_gpu" "$@"
RUN
chmod +x "$bundle/run"

if [[ $check == 1 ]]; then
  result=0
  chroot "$bundle" /lib/ld-linux-x86-64.so.2 --library-path /lib /bin/test_gpu || result=$?
  if [[ $result == 77 ]]; then
    echo "in an empty root: starts, and skips what needs a GPU"
  elif [[ $result != 0 ]]; then
    echo "in an empty root: failed, $result" >&2
    exit 1
  fi
fi

tar -C "$scratch" --sort=name --owner=0 --group=0 -c pullback-gpu | xz -T0 -6 >"$archive"
bytes=$(stat -c %s "$archive")
echo "$archive: $bytes bytes"
if ((bytes > most)); then
  echo "more than $most bytes" >&2
  exit 1
fi
