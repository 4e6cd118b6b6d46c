#!/bin/sh
# build.sh VARIANT SOURCE OUT: compiles XNNPACK as VARIANT (simd, relaxed, native, scalar or asan)
# from SOURCE, which unpack.sh made, and installs it in OUT.
set -eu
variant=$1 source=$2 out=$3
here=$(cd "$(dirname "$0")" && pwd)
clang=$(command -v clang-19 || command -v clang)
work=$out.build
rm -rf "$work"
set -- -G Ninja -S "$here" -B "$work" -DCMAKE_BUILD_TYPE=None -DCMAKE_INSTALL_PREFIX="$out" \
  -DRUSH_XNNPACK_SOURCE="$source" -DCMAKE_C_COMPILER="$clang"
case $variant in
  simd | relaxed)
    # Clang with Emscripten's flags: half the time of going through emcc for each file, the same code.
    flags=$(emcc --cflags)
    set -- "$@" -DXNN_VARIANT="$variant" -DCMAKE_SYSTEM_NAME=Generic \
      -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY \
      -DCMAKE_C_FLAGS="$flags" \
      -DCMAKE_AR="$(command -v llvm-ar-19 || command -v llvm-ar)" \
      -DCMAKE_RANLIB="$(command -v llvm-ranlib-19 || command -v llvm-ranlib)"
    ;;
  asan) set -- "$@" -DXNN_VARIANT=scalar -DXNN_SANITIZE=ON ;;
  *) set -- "$@" -DXNN_VARIANT="$variant" ;;
esac
cmake "$@" >"$work.log" 2>&1 || { cat "$work.log" >&2; exit 1; }
cmake --build "$work"
cmake --install "$work" >"$work.log"
rm -rf "$work" "$work.log"
