# shellcheck shell=bash
# Runs the stages of ./dev test: selects them, runs two at a time and keeps their results. The commands of stages that need
# more than a line follow. ./dev sources this file and has the table of stages.

# Tests whether a pattern matches a stage. The full name of a stage matches only that stage: "rows" does not match "browser".
is_named() { # NAME PATTERN
  if stages | grep -q "^+\{0,1\}$2 *|"; then [ "$1" = "$2" ]; else [[ $1 == *$2* ]]; fi
}

# Tests whether all patterns are stages that need no build and few tools (cmake/debian-packages-lint.txt).
are_lints() { # PATTERN..
  local p
  for p in "$@"; do
    case $p in format | lint) ;; *) return 1 ;; esac
  done
  [ $# -gt 0 ]
}

# Fills STAGES and the tables for each stage, and makes the builds that they need.
choose_stages() { # PATTERN..
  local name builds after file command p wanted needed=' '
  while IFS='|' read -r name builds after file command <&3; do
    name=${name// /} file=${file// /} wanted=$#
    [[ $name != +* ]] || name=${name#+} wanted=1
    compgen -G "$file" >/dev/null || continue
    for p in "$@"; do ! is_named "$name" "$p" || wanted=0; done
    [ "$wanted" = 0 ] || continue
    STAGES+=("$name")
    STAGE_AFTER[$name]=$after STAGE_COMMAND[$name]=$command STAGE_STATE[$name]=waits
    needed+="$builds "
  done 3< <(stages)
  [ ${#STAGES[@]} -gt 0 ] || die "no stage matches: ./dev test --list names them"
  TARGETS=(all)
  [[ $needed != *" tests "* ]] || TARGETS+=(tests)
  for p in "${ALL_PRESETS[@]}"; do
    case $needed in *" $p "*) verb_build "$p" ;; esac
  done
}

# Keeps the result of a stage.
told() { # NAME STATE SECONDS [SECONDS]
  STAGE_STATE[$1]=$2
  took "$2" "$1" "${@:3}"
  [ "$2" != FAILED ] || TIMES[-1]+="   ./dev test $1"
}

# Runs a stage in the foreground, with its runner's own output.
run_one() { # NAME ARGUMENT..
  local start=$SECONDS state=passed command=${STAGE_COMMAND[$1]} before
  before=$(processor_time)
  say "test: $1"
  # shellcheck disable=SC2086
  $command "${@:2}" || state=FAILED
  told "$1" "$state" $((SECONDS - start)) $(($(processor_time) - before))
}

# Runs two stages at a time. The output of each is printed when it has ended, and is in build/log meanwhile.
run_together() { # ARGUMENT..
  local name running=0 logs=$TOP/build/log jobs=${RUSH_JOBS:-2}
  mkdir -p "$logs"
  trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM
  while :; do
    for name in "${STAGES[@]}"; do
      [ "$running" -lt "$jobs" ] || break
      if [ "${STAGE_STATE[$name]}" != waits ] || ! may_begin "$name"; then continue; fi
      say "test: $name"
      rm -f "$logs/$name.ended"
      begin_stage "$name" "$@" &
      STAGE_STATE[$name]=$! running=$((running + 1))
    done
    [ "$running" -gt 0 ] || break
    wait -n || true
    for name in "${STAGES[@]}"; do
      case ${STAGE_STATE[$name]} in waits | passed | FAILED) continue ;; esac
      if kill -0 "${STAGE_STATE[$name]}" 2>/dev/null; then continue; fi
      running=$((running - 1))
      end_stage "$name"
    done
  done
  trap - INT TERM
}

# Tests whether all earlier stages that it needs have ended.
may_begin() { # NAME
  local before
  for before in ${STAGE_AFTER[$1]}; do
    case ${STAGE_STATE[$before]:-} in '' | passed | FAILED) ;; *) return 1 ;; esac
  done
}

begin_stage() { # NAME ARGUMENT..
  local start=$SECONDS state=passed logs=$TOP/build/log used
  run_within "${RUSH_STAGE_LIMIT:-1800}" "$@" 2>/dev/null || state=FAILED # no notes on jobs that were stopped
  read -ra used < <(tail -n 1 "$logs/$1.time") || true
  echo "$state $((SECONDS - start)) $((${used[0]:-0} + ${used[1]:-0}))" >"$logs/$1.part"
  mv "$logs/$1.part" "$logs/$1.ended"
}

# Runs the command of a stage in a process group of its own, and stops the group after LIMIT seconds: a test that waits for
# ever must not hide which one it is. The log then ends with the processes that were left.
run_within() { # LIMIT NAME ARGUMENT..
  local logs=$TOP/build/log command=${STAGE_COMMAND[$2]} group clock TIMEFORMAT='%0U %0S' status=0
  set -m
  # shellcheck disable=SC2086
  { time $command "${@:3}" </dev/null >"$logs/$2.log" 2>&1; } 2>"$logs/$2.time" &
  group=$!
  {
    sleep "$1"
    echo "dev: the stage $2 was stopped after $1 s (RUSH_STAGE_LIMIT). These processes were running:" >>"$logs/$2.log"
    ps -eo pgid,pid,etime,args | awk -v group="$group" '$1 == group' >>"$logs/$2.log"
    kill -- -"$group"
  } &
  clock=$!
  trap 'kill -- -"$group" -"$clock"; exit 130' INT TERM
  wait "$group" || status=$?
  kill -- -"$clock"
  wait "$clock"
  return "$status"
}

end_stage() { # NAME
  local logs=$TOP/build/log ended
  read -ra ended <"$logs/$1.ended" || ended=(FAILED 0) # it was killed
  say "${ended[0]}: $1, ${ended[1]} s"
  cat "$logs/$1.log"
  told "$1" "${ended[@]}"
}

# Runs tests with the torch of tests/torch-pip-requirements.txt in a virtual environment. Arguments are pytest's.
test_torch_pip() {
  local venv dir=$TOP/build/torch-pip py launcher=()
  venv=$RUSH_CACHE/torch-pip-$(key_of <"$TOP/tests/torch-pip-requirements.txt")
  py=$venv/bin/python
  once "$venv" "installing a newer torch from PyPI, 7 GB" make_torch_pip
  ensure_xnnpack native
  command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  export RUSH_NATIVE=$dir RUSH_PROGRAMS=$dir/programs RUSH_FEATURES=$dir/features PYTHONPATH=$dir/python PATH=$dir/bin:$PATH
  { cmake -G Ninja -S "$TOP" -B "$dir" -DRUSH_TESTS=OFF -DRUSH_WERROR=OFF -DRUSH_XNNPACK_DIR="$XNNPACK" \
    -DCMAKE_PREFIX_PATH="$("$py" -c 'import torch.utils; print(torch.utils.cmake_prefix_path)')" \
    -DPython3_EXECUTABLE="$py" "${launcher[@]}" && cmake --build "$dir"; } ||
    die "the exporter does not build with the torch of tests/torch-pip-requirements.txt: see the first error above"
  cd "$TOP"
  [ $# -gt 0 ] || set -- tests/exporter tests/python
  "$py" -m pytest -q -p no:cacheprovider "$@"
}
make_torch_pip() {
  python3 -m venv "$1" &&
    "$1/bin/python" -m pip install --no-compile --only-binary=:all: --require-hashes -r "$TOP/tests/torch-pip-requirements.txt"
}

# Tries the npm package in the tools of tests/package/bundlers, 1.7 GB, and builds examples/ with them.
test_bundlers() {
  RUSH_BUNDLERS=$RUSH_CACHE/bundlers-$(key_of <"$TOP/tests/package/bundlers/package-lock.json")
  export RUSH_BUNDLERS
  once "$RUSH_BUNDLERS" "installing the bundlers of tests/package/bundlers" install_packages "$TOP/tests/package/bundlers"
  node --test "$@" tests/package/bundlers/*.test.js
}

# Checks the types of the npm package by TypeScript, and those of the Python package by mypy and pyright.
test_types() {
  local PYPI
  ensure_pypi mypy tests/types/requirements.txt "installing mypy from PyPI"
  RUSH_MYPY=$PYPI node --test "$@" tests/types/*.test.*js
}

# Runs clang-tidy on the sources. Arguments are those of tests/analysis/run.py.
test_analysis() {
  ensure_pypi tidy tests/analysis/requirements.txt "installing clang-tidy from PyPI"
  RUSH_CLANG_TIDY=$PYPI/clang_tidy/data/bin/clang-tidy python3 tests/analysis/run.py "$@"
}

# Runs a command whose demos need transformers.
with_transformers() { # COMMAND..
  ensure_transformers
  "$@"
}

# Exports models of transformers with random weights, and runs them in Node and Chromium. The arguments are those of pytest.
test_text() {
  ensure_transformers
  python3 -m pytest -q -p no:cacheprovider tests/text "$@" && python3 tests/text/export_models.py build/text &&
    node --test tests/text/*.test.js
}
# Exports models of other versions of transformers, the oldest and the newest one that export_text() supports.
test_text_versions() {
  local PYPI versions
  for versions in tests/text/transformers-*-requirements.txt; do
    ensure_pypi transformers "$versions" "installing $versions"
    PYTHONPATH=$PYPI:$PYTHONPATH TRANSFORMERS_VERBOSITY=error TQDM_DISABLE=1 \
      python3 -m pytest -q -p no:cacheprovider tests/text/test_export_text.py tests/text/test_seq2seq.py "$@" || return
  done
}
# Runs the recipes of the guide, also those of other libraries than transformers.
test_recipes() {
  local PYPI
  ensure_transformers
  ensure_pypi recipes tests/text/recipes-requirements.txt "installing ultralytics, diffusers, torchao and sentence-transformers"
  export PYTHONPATH=$PYPI:$PYTHONPATH RUSH_RECIPES=all YOLO_CONFIG_DIR=$TOP/build
  python3 -m pytest -q -p no:cacheprovider tests/text/test_recipes.py "$@"
}

# Checks that the builds are reproducible. Arguments are builds: simd, relaxed.
test_reproducible() {
  ensure_sources
  RUSH_SOURCES=$SOURCES RUSH_CMOCKA=$CMOCKA tests/package/reproducible.sh "$@"
}

test_safe_heap() {
  cmake --build build/simd --target safe-heap && node --test "$@" tests/fuzz/*.test.mjs
}

test_many_machines() {
  ensure_pypi ray demo/06-many-machines/requirements.txt "installing Ray Data, 450 MB"
  PYTHONPATH=$PYTHONPATH:$PYPI python3 demo/06-many-machines/check.py "$@"
}

# Runs the command of a stage, and counts which lines of these languages run, unless arguments select tests: tests/coverage.
counted() { # STAGE LANGUAGE[,LANGUAGE] COMMAND..
  local data=$TOP/build/coverage/$1 language env=()
  # shellcheck disable=SC2154 # verb_test sets them
  if [ ${#arguments[@]} -gt 0 ]; then "${@:3}"; return; fi
  for language in ${2/,/ }; do
    rm -rf "$data-$language"
    mkdir -p "$data-$language"
    case $language in
      js) env+=(NODE_V8_COVERAGE="$data-js") ;;
      python)
        ensure_coverage
        env+=(RUSH_COUNTED="$data-python" COVERAGE_PROCESS_START="$TOP/tests/coverage/coveragerc")
        env+=(PYTHONPATH="$TOP/tests/coverage/python:$PYTHONPATH:$PYPI")
        ;;
    esac
  done
  (export "${env[@]}" && "${@:3}")
}

test_coverage() {
  ensure_coverage
  PYTHONPATH=$PYTHONPATH:$PYPI tests/coverage/run "$@"
}

# Runs the option `device` in Chromium, and a sample of models, conformance rows and programs. Arguments are those of node --test.
test_gpu() {
  python3 tests/gpu/models.py --sample build/gpu-sample && python3 tests/gpu/structure.py build/gpu-structure &&
    RUSH_GPU_MODELS=gpu-sample node --test --test-force-exit "$@" tests/gpu/*.test.mjs
}
# Runs it in Node. Arguments are those of node --test.
test_gpu_node() {
  in_node_with_gpu "$@" tests/gpu/node/node.test.js
}
# Exports whole models, and runs them in Node and in Chromium. Arguments are those of models.py.
test_gpu_models() {
  ensure_transformers
  python3 tests/gpu/models.py build/gpu-models "$@" && in_node_with_gpu tests/gpu/node/models.test.js &&
    node --test --test-force-exit tests/gpu/models.test.mjs
}
in_node_with_gpu() { # ARGUMENT..
  ensure_lavapipe
  ensure_packages "$RUSH_CACHE/gpu-$(key_of <"$TOP/tests/gpu/node/package-lock.json")" tests/gpu/node
  VK_DRIVER_FILES=$RUSH_VULKAN/usr/share/vulkan/icd.d/lavapipe.json node --test "$@"
}

# Tests Firefox and WebKitGTK. main() has entered a root with them.
test_engines() {
  ensure_packages "$RUSH_CACHE/engines-$(key_of <"$TOP/tests/engines/package-lock.json")" tests/engines
  node --test "$@" tests/engines/*.test.js
}
