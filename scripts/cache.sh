# shellcheck shell=bash
# Makes things once and keeps them in $RUSH_CACHE, outside the checkout. ./dev sources this file. The key in a folder's name
# depends on the file in brackets:
#   $RUSH_CACHE/root-KEY       the Debian 13 root                (cmake/debian-packages.txt, scripts/root.sh)
#   $RUSH_CACHE/root-KEY-KEY   the same with other browsers      (cmake/debian-packages-engines.txt)
#   $RUSH_CACHE/bare-KEY       a Debian with Python alone       (scripts/wheels.sh)
#   $RUSH_CACHE/sources-KEY    XNNPACK                           (the root, cmake/xnnpack/unpack.sh)
#   $RUSH_CACHE/xnnpack-*-KEY  compiled XNNPACK                  (cmake/xnnpack/*, the compilers)
#   $RUSH_CACHE/i386-1         C and C++ libraries for 32 bits   (./dev fuzz --32; Debian's, without a root of their own)
#   $RUSH_CACHE/node-KEY       packages for the JavaScript tests (tests/package-lock.json)
#   $RUSH_CACHE/site-KEY       packages that make the site       (web/package-lock.json)
#   $RUSH_CACHE/bundlers-KEY   bundlers to try the package with  (tests/package/bundlers/package-lock.json)
#   $RUSH_CACHE/engines-KEY    drivers of other browsers         (tests/engines/package-lock.json)
#   $RUSH_CACHE/gpu-KEY        WebGPU for Node                   (tests/gpu/node/package-lock.json)
#   $RUSH_CACHE/lavapipe-1     a Vulkan driver in software       (./dev test gpu-node; Debian's)
#   $RUSH_CACHE/rivals-KEY     rivals for bench --vs, --text     (tests/bench/rivals/package-lock.json)
#   $RUSH_CACHE/plot-KEY       Matplotlib                        (tests/bench/requirements.txt)
#   $RUSH_CACHE/coverage-KEY   coverage.py                       (tests/coverage/requirements.txt)
#   $RUSH_CACHE/ruff-KEY       ruff                              (tests/lint/requirements.txt)
#   $RUSH_CACHE/lint-KEY       Prettier and ESLint               (tests/lint/package-lock.json)
#   $RUSH_CACHE/mypy-KEY       mypy                              (tests/types/requirements.txt)
#   $RUSH_CACHE/tidy-KEY       clang-tidy                        (tests/analysis/requirements.txt)
#   $RUSH_CACHE/analysis       files without clang-tidy faults   (tests/analysis/run.py has the keys)
#   $RUSH_CACHE/wheel-KEY      auditwheel and twine              (tests/wheels/requirements.txt)
#   $RUSH_CACHE/torch-wheels   PyTorch of PyPI                   (tests/wheels/torch-*-requirements.txt)
#   $RUSH_CACHE/zig-KEY        the compiler of the wheel         (cmake/zig/requirements.txt)
#   $RUSH_CACHE/zoo-KEY        timm and transformers             (tests/zoo/requirements.txt)
#   $RUSH_CACHE/text-KEY       gguf and torchao                  (tests/text/requirements.txt)
#   $RUSH_CACHE/transformers-KEY  other versions of transformers (tests/text/transformers-*-requirements.txt)
#   $RUSH_CACHE/recipes-KEY    libraries of the guide's recipes  (tests/text/recipes-requirements.txt)
#   $RUSH_CACHE/ccache         compiled files of all checkouts   (ccache's own keys)
#   $RUSH_CACHE/models         models that users' Node programs keep (rushlight/cache): not ours to remove
#   $RUSH_CACHE/ray-KEY        Ray Data                          (demo/06-many-machines/requirements.txt)
#   $RUSH_CACHE/wheels/        Python wheels that carry weights  (demo/shared/wheels.py)
# Each is made under another name and renamed when it is complete, so an interrupted run leaves nothing incomplete.
# Uses TOP, RUSH_CACHE, TIMES, say, die, key_of, is_debian_13.

# once DIR TITLE COMMAND..: runs COMMAND with DIR.part as its last argument and renames that to DIR,
# unless DIR exists. Two processes may do this at the same time. An interrupted process leaves only DIR.part.
once() {
  local dir=$1 title=$2 fd log
  shift 2
  [ -e "$dir" ] && return
  mkdir -p "$RUSH_CACHE/log"
  log=$RUSH_CACHE/log/${dir##*/}.log
  exec {fd}>"$dir.lock"
  flock -n "$fd" || { say "waiting for another ./dev: $title"; flock "$fd"; }
  if [ ! -e "$dir" ]; then
    say "$title"
    rm -rf "$dir.part" "$dir.part".*
    local start=$SECONDS
    progress "$log" "$@" "$dir.part" {fd}>&- ||
      { tail -n 30 "$log" >&2; die "$title failed: $log has the whole output"; }
    mv "$dir.part" "$dir"
    say "done in $((SECONDS - start)) s"
    took made "${dir##*/}" $((SECONDS - start))
  fi
  rm -f "$dir.lock"
  exec {fd}>&-
}

# Keeps a line for the final summary: the thing that was made, built or tested, its wall time and processor time.
took() { # VERB NAME SECONDS [SECONDS]
  TIMES+=("$(printf '%-8s%-24s%5d s' "$1" "$2" "$3")${4:+  ($4 s of processor time)}")
}
# Prints the processor seconds of the child processes that have ended.
processor_time() {
  local ticks=()
  [ ! -r "/proc/$$/stat" ] || read -ra ticks <"/proc/$$/stat"
  echo $(((${ticks[15]:-0} + ${ticks[16]:-0}) / $(getconf CLK_TCK)))
}

# Runs the command with its output in LOG, and shows Ninja's [n/m] as one line on a terminal.
progress() {
  local log=$1
  shift
  if [ -t 2 ]; then
    "$@" 2>&1 | tee "$log" | grep --line-buffered -oE '^\[[0-9]+/[0-9]+\]' |
      while read -r n; do printf '\r  %s ' "$n" >&2; done
    local status=${PIPESTATUS[0]}
    printf '\r' >&2
    return "$status"
  fi
  "$@" >"$log" 2>&1
}

# Sets APT, options of apt-get, and fetches its lists: with lists and settings of our own in DIR (the root is
# read-only, and a Debian 13 may have no deb-src lines), for packages of KIND, deb or deb-src.
own_apt() { # DIR KIND [OPTION..]
  local apt=$1 kind=$2
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  cp -r /etc/apt/sources.list.d "$apt/sources.list.d"
  [ ! -f /etc/apt/sources.list ] || cp /etc/apt/sources.list "$apt/sources.list.d/main.list"
  sed -n -i "s/^deb\(-src\)\{0,1\} /$kind /p" "$apt"/sources.list.d/*.list 2>/dev/null || true
  sed -i "s/^Types:.*/Types: $kind/" "$apt"/sources.list.d/*.sources 2>/dev/null || true
  APT=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/sources.list.d"
    -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o Acquire::Retries=5
    -o APT::Sandbox::User= "${@:3}")
  apt-get "${APT[@]}" update
}
# Gets the upstream tars of Debian's source packages into DIR.
fetch_tars() { # DIR PACKAGE..
  local tars=$1
  shift
  mkdir -p "$tars"
  own_apt "$tars.apt" deb-src && (cd "$tars" && apt-get "${APT[@]}" source --tar-only "$@") && rm -rf "$tars.apt"
}
# Unpacks packages of another architecture into DIR.
unpack_debs() { # DIR ARCHITECTURE PACKAGE..
  local dir=$1 apt=$1.apt arch=$2 file
  shift 2
  mkdir -p "$dir"
  # A missing list (of updates) does not matter if the packages are in another list.
  own_apt "$apt" deb -o APT::Architecture="$arch" -o APT::Architectures::="$arch" -o Dir::State::status=/dev/null || true
  (cd "$apt" && apt-get "${APT[@]}" download "$@") || return
  for file in "$apt"/*.deb; do dpkg-deb -x "$file" "$dir" || return; done
  rm -rf "$apt"
}
# Sets RUSH_VULKAN, a folder with Debian's Vulkan driver in software. The root has its libraries.
ensure_lavapipe() {
  export RUSH_VULKAN=$RUSH_CACHE/lavapipe-1
  once "$RUSH_VULKAN" "fetching a Vulkan driver in software, 14 MB" make_lavapipe
}
make_lavapipe() { # DIR.part
  unpack_debs "$1" "$(dpkg --print-architecture)" mesa-vulkan-drivers &&
    sed "s|\(\"library_path\": \"\)|\1../../../lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/|" \
      "$1/usr/share/vulkan/icd.d/lvp_icd.json" >"$1/usr/share/vulkan/icd.d/lavapipe.json"
}
make_sources() { # DIR.part
  fetch_tars "$1.tars" xnnpack &&
    "$TOP/cmake/xnnpack/unpack.sh" "$1.tars" "$1" && rm -rf "$1.tars"
}
make_cmocka() { # DIR.part
  fetch_tars "$1.tars" cmocka && mkdir "$1" &&
    tar -xf "$(ls "$1.tars"/cmocka_*.orig.tar.*)" -C "$1" --strip-components=1 && rm -rf "$1.tars"
}

# Sets RUSH_I386, the headers and libraries of a Debian for 32 bits.
ensure_i386() {
  export RUSH_I386=$RUSH_CACHE/i386-1
  [ -e "$RUSH_I386" ] || is_debian_13 || die "the 32-bit libraries come from Debian 13: omit --host"
  once "$RUSH_I386" "fetching C and C++ libraries for 32 bits, 13 MB" make_i386
}
make_i386() { # DIR.part
  unpack_debs "$1" i386 libc6 libc6-dev linux-libc-dev libgcc-s1 libgcc-14-dev libstdc++6 libstdc++-14-dev &&
    ln -s usr/lib "$1/lib"
}

# Sets SOURCES (XNNPACK) and CMOCKA (for wasm; Debian's library is native).
ensure_sources() {
  SOURCES=$RUSH_CACHE/sources-$(key_of <"$TOP/cmake/xnnpack/unpack.sh")
  CMOCKA=$RUSH_CACHE/cmocka-1
  if [ -n "${RUSH_XNNPACK_SOURCE:-}" ]; then
    SOURCES=$RUSH_XNNPACK_SOURCE
    [ -e "$SOURCES/rushlight-patched" ] ||
      die "RUSH_XNNPACK_SOURCE=$SOURCES was not made by cmake/xnnpack/unpack.sh: see cmake/xnnpack/README.md"
  elif [ ! -e "$SOURCES" ]; then
    is_debian_13 ||
      die "XNNPACK's sources come from Debian 13: set RUSH_XNNPACK_SOURCE as cmake/xnnpack/README.md says"
    once "$SOURCES" "fetching the source of XNNPACK" make_sources
  fi
  if [ ! -e "$CMOCKA" ] && is_debian_13; then
    once "$CMOCKA" "fetching the source of cmocka" make_cmocka
  fi
}

# Sets XNNPACK to the compiled library for a preset.
ensure_xnnpack() { # PRESET
  local variant=$1 key
  case $variant in fuzz) variant=asan ;; fuzz32) variant=asan32 ;; tsan | coverage | portable) variant=native ;; esac
  ensure_sources
  key=$( (cd "$TOP/cmake/xnnpack" && cat CMakeLists.txt kernels.cmake build.sh shim/*
    basename "$SOURCES"
    clang --version
    case $variant in native | asan* | msan) ;; *) emcc --version ;; esac) 2>/dev/null | key_of)
  XNNPACK=$RUSH_CACHE/xnnpack-$variant-$key
  once "$XNNPACK" "compiling XNNPACK ($variant)" compile_xnnpack "$variant"
}
compile_xnnpack() { # VARIANT DIR.part
  if [ "$1" = asan32 ]; then
    set -- asan "$2"
    export CFLAGS="--target=i686-linux-gnu --sysroot=$RUSH_I386 -msse2 -mfpmath=sse"
    export CXXFLAGS=$CFLAGS
  elif [ "$1" = msan ]; then
    set -- scalar "$2"
    export CFLAGS="-g -fsanitize=memory -fsanitize-memory-track-origins -fno-omit-frame-pointer"
  fi
  "$TOP/cmake/xnnpack/build.sh" "$1" "$SOURCES" "$2"
}

# Installs the packages for the JavaScript tests.
ensure_node() {
  [ -f "$TOP/tests/package-lock.json" ] || return 0
  ensure_packages "$NODE_DEPS" tests
  export RUSH_NODE_CURRENT=$NODE_DEPS/node_modules/.bin/node
}
# Installs the rivals of `bench --vs`.
ensure_rivals() {
  ensure_packages "$RUSH_CACHE/rivals-$(key_of <"$TOP/tests/bench/rivals/package-lock.json")" tests/bench/rivals
}
# Installs the generator of the site, and axe, which checks its pages.
ensure_site() {
  ensure_packages "$RUSH_CACHE/site-$(key_of <"$TOP/web/package-lock.json")" web
}
# Installs the packages of FOLDER/package-lock.json into DIR, and links to it from FOLDER.
ensure_packages() { # DIR FOLDER
  local link=$TOP/$2/node_modules
  once "$1" "installing the packages of $2/package.json" install_packages "$TOP/$2"
  if [ "$(readlink "$link" || true)" != "$1/node_modules" ]; then
    [ ! -e "$link" ] || [ -L "$link" ] || die "$2/node_modules must be a link to the cache of ./dev, got a folder: remove it"
    ln -sfn "$1/node_modules" "$link"
  fi
}
install_packages() { # FOLDER DIR.part
  mkdir -p "$2"
  cp "$1/package.json" "$1/package-lock.json" "$2"
  # No package here needs its install script.
  (cd "$2" && npm ci --ignore-scripts --no-audit --no-fund)
}

# Sets PYPI to a folder of Python packages for one purpose, in addition to Debian's.
ensure_pypi() { # NAME REQUIREMENTS TITLE
  PYPI=$RUSH_CACHE/$1-$(key_of <"$TOP/$2")
  once "$PYPI" "$3" install_pypi "$2"
}
# Installs only bytes whose SHA-256 is in the file, which cmake/pin.py writes.
install_pypi() { # REQUIREMENTS DIR.part
  python3 -m pip install --target "$2" --no-deps --no-compile --only-binary=:all: --require-hashes -r "$TOP/$1"
}
# Sets RUSH_ZIG, whose compilers make programs for Linux with glibc 2.28, and RUSH_BUILTINS, the functions of Clang that Zig
# lacks (__cpu_model). Its own C++ library is compiled with them.
ensure_zig() {
  export RUSH_ZIG RUSH_BUILTINS ZIG_GLOBAL_CACHE_DIR ZIG_LOCAL_CACHE_DIR=$TOP/build/portable/zig
  RUSH_ZIG=$RUSH_CACHE/zig-$( (cat "$TOP/cmake/zig/requirements.txt" && declare -f make_zig) | key_of)
  ZIG_GLOBAL_CACHE_DIR=$RUSH_ZIG/cache
  RUSH_BUILTINS=$(clang --rtlib=compiler-rt --print-libgcc-file-name)
  once "$RUSH_ZIG" "installing Zig, and compiling its C++ library for glibc 2.28" make_zig
}
# Zig compiles its C++ library for each set of options: once for programs, which CMake tries, and once for shared libraries.
make_zig() { # DIR.part
  local name
  install_pypi cmake/zig/requirements.txt "$1" && mkdir -p "$1/bin" || return
  for name in cc c++; do
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexec "${0%%/bin/*}/ziglang/zig" %s -target "$(uname -m)-linux-gnu.2.28" -O2 -fPIC -s "$@"\n' "$name" >"$1/bin/$name"
    chmod +x "$1/bin/$name"
  done
  echo 'int main() { throw 1; }' >"$1/try.cpp"
  for name in '' -shared; do
    # shellcheck disable=SC2086
    ZIG_GLOBAL_CACHE_DIR=$1/cache ZIG_LOCAL_CACHE_DIR=$1/try "$1/bin/c++" $name "$1/try.cpp" -o "$1/try.out" || return
  done
  rm -r "$1"/try*
}
# Installs transformers and gguf, and lets Python find them.
ensure_transformers() {
  local PYPI
  ensure_pypi text tests/text/requirements.txt "installing gguf and torchao"
  export PYTHONPATH=$PYPI:$PYTHONPATH
  ensure_pypi zoo tests/zoo/requirements.txt "installing timm and transformers"
  export PYTHONPATH=$PYPI:$PYTHONPATH TRANSFORMERS_VERBOSITY=error TQDM_DISABLE=1
}
ensure_coverage() { ensure_pypi coverage tests/coverage/requirements.txt "installing coverage.py"; }
# Installs Prettier and ESLint.
ensure_js_lint() {
  ensure_packages "$RUSH_CACHE/lint-$(key_of <"$TOP/tests/lint/package-lock.json")" tests/lint
}
# Sets RUSH_RUFF, which checks Python.
ensure_ruff() {
  local PYPI
  ensure_pypi ruff tests/lint/requirements.txt "installing ruff from PyPI"
  export RUSH_RUFF=$PYPI/bin/ruff
}

# `npx rushlight` then finds js/ from any folder, without a registry.
link_npx() {
  local bin
  bin=$(sed -n 's|.*"rushlight": *"\([^"]*\.m\{0,1\}js\)".*|\1|p' "$TOP/js/package.json" | head -1)
  [ -n "$bin" ] || return 0
  mkdir -p "$npm_config_prefix/bin" "$npm_config_prefix/lib"
  ln -sfn "$TOP/js/${bin#./}" "$npm_config_prefix/bin/rushlight"
}

# Removes the caches of all checkouts, and nothing else: Node's model cache (rushlight/cache) is in the same folder, in models/
# and under users' names.
remove_caches() {
  say "removing the caches in $RUSH_CACHE"
  rm -rf "$RUSH_CACHE"/{sources,xnnpack,cmocka,node,bundlers,engines,gpu,lavapipe,site,rivals,plot,coverage,npx,ruff,lint,mypy,tidy,wheel,zig,zoo,text,transformers,recipes,ray,torch-pip,i386}-* "${RUSH_CACHE:?}"/{wheels,torch-wheels,npm,home,log,ccache,python,analysis}
  say "the Debian roots stay; to remove them: rm -rf $RUSH_CACHE/{root,bare}-*"
  [ ! -d "$RUSH_CACHE/models" ] || say "models that rushlight/cache keeps for Node stay, too: $RUSH_CACHE/models"
}
