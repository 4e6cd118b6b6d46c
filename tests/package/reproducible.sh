#!/bin/bash
# Builds the wasm twice from the files that git tracks, XNNPACK included, in folders of different names and depths and without
# compiled files of before, and compares the bytes: reproducible.sh [PRESET..]. ./dev test reproducible sets RUSH_SOURCES and
# RUSH_CMOCKA, the sources of XNNPACK and cmocka.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- simd relaxed
export CCACHE_DISABLE=1
RUSH_EMSCRIPTEN=$(cd "$(dirname "$(readlink -f "$(command -v emcc)")")" && pwd)
export RUSH_EMSCRIPTEN
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() { # FOLDER PRESET
  local xnnpack=$1/xnnpack-$2
  echo "building $2 in $1"
  {
    "$1/cmake/xnnpack/build.sh" "$2" "$RUSH_SOURCES" "$xnnpack" &&
      (cd "$1" && cmake --preset "$2" -DRUSH_TESTS=OFF -DRUSH_XNNPACK_DIR="$xnnpack" -DRUSH_CMOCKA_SOURCE="$RUSH_CMOCKA") &&
      cmake --build "$1/build/$2"
  } >"$work/log" 2>&1 || { tail -n 30 "$work/log" && return 1; }
}

for folder in "$work/a" "$work/another/and/a/deeper-one"; do
  mkdir -p "$folder"
  git ls-files -z | tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory="$folder"
  for preset in "$@"; do build "$folder" "$preset"; done
done
for preset in "$@"; do
  (cd "$work/a/build/$preset/dist" && sha256sum rushlight-*) | tee "$work/sums"
  (cd "$work/another/and/a/deeper-one/build/$preset/dist" && sha256sum --check "$work/sums")
done
