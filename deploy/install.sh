#!/usr/bin/env bash
# Installs the packages of packages.txt on a Debian 12 machine. Does nothing when all are there.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

mapfile -t packages < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$here/packages.txt")
missing=()
for entry in "${packages[@]}"; do
  # Where such a command is, whoever put it there, the package is not needed.
  [[ $entry == *'|'* ]] && command -v "${entry%%|*}" >/dev/null && continue
  package=${entry##*|}
  state=$(dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | head -n1 || true)
  [[ $state == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "install: all ${#packages[@]} packages are there"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || { echo "install: run as root, or install sudo" >&2; exit 1; }
  as_root=(sudo)
fi
echo "install: ${#missing[@]} of ${#packages[@]} packages are missing: ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -qy --no-install-recommends "${missing[@]}"
