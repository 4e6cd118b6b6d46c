# shellcheck shell=bash
# Configures and builds one CMake preset. ./dev sources this file. It uses the functions of cache.sh.

build() { # PRESET
  local preset=$1 dir=$TOP/build/$1 stamp want fd start=$SECONDS before
  before=$(processor_time)
  [ "$preset" != fuzz32 ] || ensure_i386
  ensure_xnnpack "$preset"
  mkdir -p "$dir"
  exec {fd}>"$TOP/build/$preset.lock"
  flock -n "$fd" || { say "waiting for another ./dev that builds $preset"; flock "$fd"; }
  stamp=$dir/configured-with
  local launcher=()
  command -v ccache >/dev/null && case $preset in
    native | portable | asan | tsan | msan | coverage | fuzz*) launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache) ;;
  esac
  want="$XNNPACK $(key_of <"$TOP/CMakePresets.json") ${launcher[*]} ${RUSH_CMAKE_ARGS:-}"
  if [ "$preset" = portable ]; then ensure_zig && want+=" $RUSH_ZIG"; fi
  if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ] || [ ! -e "$dir/build.ninja" ]; then
    say "configuring $preset"
    if [ -z "${RUSH_EMSCRIPTEN:-}" ] && [[ " simd relaxed " == *" $preset "* ]]; then
      RUSH_EMSCRIPTEN=$(cd "$(dirname "$(readlink -f "$(command -v emcc)")")" && pwd)
      export RUSH_EMSCRIPTEN
    fi
    rm -f "$stamp"
    # shellcheck disable=SC2086
    (cd "$TOP" && cmake --preset "$preset" -DRUSH_XNNPACK_DIR="$XNNPACK" -DRUSH_CMOCKA_SOURCE="$CMOCKA" "${launcher[@]}" ${RUSH_CMAKE_ARGS:-}) \
      >"$dir/configure.log" 2>&1 {fd}>&- ||
      { cat "$dir/configure.log" >&2; die "CMake could not configure $preset: see above"; }
    printf '%s' "$want" >"$stamp"
  fi
  say "building $preset"
  cmake --build "$dir" --target "${TARGETS[@]}" {fd}>&- || die "$preset does not build: see the first error above"
  # The package and the pages find the binaries in js/wasm.
  case $preset in
    simd | relaxed) [ ! -e "$dir/dist/rushlight-$preset.wasm" ] || node "$TOP/js/build.mjs" --types ;;
    native) export_gate ;;
  esac
  exec {fd}>&-
  say "$preset is built, $((SECONDS - start)) s"
  took built "$preset" $((SECONDS - start)) $(($(processor_time) - before))
}

# Exports the model of the npm package. The file names js/gate.py without its folder.
export_gate() {
  [ "$TOP/js/gate.rush" -nt "$TOP/js/gate.py" ] && [ "$TOP/js/gate.rush" -nt "$TOP/build/native/bin/rushlight" ] && return
  (cd "$TOP/js" && python3 gate.py gate.rush.part && mv gate.rush.part gate.rush) || die "js/gate.py could not export the model of the package"
}

TARGETS=(all tests)

# Builds what is needed to export and run models, without the C tests.
build_to_use() {
  TARGETS=(all)
  verb_build native simd relaxed
}
