# shellcheck shell=bash
# Makes the wheel of the Python package and tests it where nothing else is installed. ./dev sources this file. A bare root is a
# Debian that has Python, venv and pip alone: no compiler, no checkout. It is kept as $RUSH_CACHE/bare-KEY.
# Uses TOP, RUSH_CACHE, say, die, key_of, privileged, apt_install.

# suite_of PYTHON: prints the Debian whose Python has this version.
suite_of() {
  case $1 in
    3.11) echo bookworm ;;
    3.13) echo trixie ;;
    *) die "--python must be 3.11 or 3.13, which Debian 12 and 13 have, got $1" ;;
  esac
}

make_bare_root() { # SUITE PACKAGES DIR
  local proxy
  proxy=$(apt-config dump 2>/dev/null | grep -iE '^Acquire::https?::Proxy ' | tr '\n' ' ' || true) # as in make_root
  # shellcheck disable=SC2016
  privileged unshare --mount --propagation private \
    mmdebstrap --variant=minbase ${proxy:+"--aptopt=$proxy"} --dpkgopt='path-exclude=/usr/share/doc/*' --include="$2" \
    --customize-hook='touch "$1/etc/resolv.conf" "$1/etc/hosts" "$1/etc/pip.conf"' "$1" "$3" >&2
}

# ensure_bare_root PYTHON [PACKAGE..]: sets BARE to the root, with these packages besides Python.
ensure_bare_root() {
  local suite packages
  suite=$(suite_of "$1")
  shift
  packages=$(printf '%s,' python3 python3-venv ca-certificates "$@")
  BARE=$RUSH_CACHE/bare-$suite-$( (echo "$packages" && declare -f make_bare_root) | key_of)
  [ ! -e "$BARE/etc/debian_version" ] || return 0
  command -v mmdebstrap >/dev/null || apt_install mmdebstrap
  exec 9>"$RUSH_CACHE/root.lock"
  flock 9
  if [ ! -e "$BARE/etc/debian_version" ]; then
    say "making a bare Debian $suite with ${packages%,}"
    privileged rm -rf --one-file-system "$BARE.part"
    make_bare_root "$suite" "${packages%,}" "$BARE.part" || die "the bare root could not be made: check the network"
    privileged mv "$BARE.part" "$BARE"
  fi
  exec 9>&-
}

# in_bare_root ROOT DIR COMMAND..: runs a command there. DIR is its home and the only folder that it can write to.
in_bare_root() {
  local root=$1 home=$2 f bind=()
  shift 2
  for f in /etc/ssl/certs /etc/resolv.conf /etc/hosts /etc/pip.conf; do
    [ -e "$f" ] && bind+=(--ro-bind "$(readlink -f "$f")" "$f")
  done
  for f in .pip/pip.conf .config/pip/pip.conf .netrc; do
    [ -r "$HOME/$f" ] && bind+=(--ro-bind "$HOME/$f" "/home/user/$f")
  done
  env -i HOME=/home/user LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin \
    bwrap --die-with-parent --unshare-pid --ro-bind "$root" / --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run \
    --tmpfs /home --bind "$home" /home/user "${bind[@]}" --chdir /home/user -- "$@"
}

# fetch_torch PYTHON VERSION: puts a PyTorch of PyPI and all that it imports into $RUSH_CACHE/torch-wheels, some 4 GB. It downloads only the
# wheels that the folder lacks.
fetch_torch() {
  local wheels=$RUSH_CACHE/torch-wheels pins=torch-$2-requirements.txt
  mkdir -p "$wheels"
  cp "$TOP/tests/wheels/$pins" "$wheels"
  python3 "$TOP/tests/wheels/missing.py" "$wheels/$pins" "$wheels" "$1" >"$wheels/missing.txt" || die "the wheels in $wheels could not be read"
  [ -s "$wheels/missing.txt" ] || return 0
  say "fetching PyTorch $2 for Python $1: $(grep -c == "$wheels/missing.txt") wheels"
  # /tmp is in memory there, and pip keeps a wheel in TMPDIR until it is complete
  in_bare_root "$BARE" "$wheels" sh -eu -c '
    python3 -m venv /tmp/venv
    mkdir -p partial
    TMPDIR=$PWD/partial /tmp/venv/bin/pip download --quiet --no-cache-dir --no-deps --only-binary=:all: --require-hashes -r missing.txt --dest .
    rm -r partial'
}

# Tests of tests/python that need the installed package and PyTorch alone: no part of a checkout, no compiler.
PUBLIC=(layouts long_sums messages random session session_threads strings torchscript_modules torchscript_objects
  torchscript_programs torchscript_state torchscript_views)

# test_wheel PYTHON WHEEL TORCH PACKAGE: installs a wheel in a bare root and runs a check of tests/wheels, and with PyTorch the public
# tests. TORCH is none, debian, or a version that has a file torch-VERSION-requirements.txt there. Beside Debian's, the npm package is
# installed, too.
test_wheel() {
  local python=$1 wheel=$2 torch=$3 checks=(check_with_torch.py) package=(python3-pytest) home test
  case $torch in
    none) package=(python3-numpy) checks=(check_without_torch.py) ;;
    debian) package+=(python3-torch nodejs npm) checks+=(check_packages.py) ;;
  esac
  ensure_bare_root "$python" "${package[@]}"
  home=$(mktemp -d "$RUSH_CACHE/bare-home.XXXXXX")
  cp "$wheel" "$4" "$TOP/README.md" "$TOP"/tests/wheels/*.py "$TOP/tests/exporter/stored/version-1.rush" "$home"
  mkdir -p "$home/tests/python"
  cp -r "$TOP"/tests/*.py "$TOP/tests/conformance" "$home/tests"
  for test in "${PUBLIC[@]}"; do cp "$TOP/tests/python/test_$test.py" "$home/tests/python"; done
  cp "$TOP/tests/python/conftest.py" "$home/tests/python"
  say "testing ${wheel##*/} with Python $python and PyTorch: $torch"
  # shellcheck disable=SC2016
  { [ "$torch" = none ] || [ "$torch" = debian ] || { fetch_torch "$python" "$torch" && cp -rl "$RUSH_CACHE/torch-wheels" "$home"; }; } &&
    in_bare_root "$BARE" "$home" sh -eu -c '
      ! command -v cc g++ cmake git || exit
      python3 -m venv --system-site-packages venv
      if [ -e torch-wheels ]; then
        venv/bin/pip install --quiet --no-index --no-deps --no-compile --find-links torch-wheels --require-hashes -r "torch-wheels/torch-$1-requirements.txt"
      fi
      before=$(date +%s)
      venv/bin/pip install --quiet --no-index --no-deps ./*.whl
      echo "installed in $(($(date +%s) - before)) s, $(du -sk venv/lib/python3*/site-packages/rushlight | cut -f1) kB"
      rm ./*.whl' sh "$torch" &&
    in_bare_root "$BARE" "$home" sh -eu -c 'for check; do venv/bin/python "$check"; done' sh "${checks[@]}" &&
    { [ "$torch" = none ] || in_bare_root "$BARE" "$home" venv/bin/python -m pytest --quiet -p no:cacheprovider -p without_lower tests/python; }
  local status=$?
  rm -rf "$home"
  return $status
}

# Makes the wheel, and prints its path. Zig compiles its library for the glibc of the wheel's tag.
verb_wheel() {
  TARGETS=(rushlight_native)
  build portable >&2
  cd "$TOP"
  local part=build/wheel.$$ wheel
  RUSH_WHEEL=manylinux_2_28_$(uname -m) RUSH_NATIVE=$TOP/build/portable python3 -m pip wheel --quiet --no-index --no-build-isolation --no-deps --wheel-dir "$part" ./exporter/python >&2 ||
    die "pip could not make the wheel: see above"
  wheel=$(echo "$part"/*.whl)
  mkdir -p build/wheels && mv "$wheel" build/wheels && rmdir "$part"
  check_wheel "build/wheels/${wheel##*/}"
  echo "build/wheels/${wheel##*/}"
}

# check_wheel WHEEL: compares its tag with the glibc that its library needs, and checks what a registry shows.
check_wheel() {
  local PYPI shown
  ensure_pypi wheel tests/wheels/requirements.txt "installing auditwheel and twine"
  shown=$(PYTHONPATH=$PYPI python3 -m auditwheel show "$1") || die "auditwheel cannot read $1"
  python3 tests/wheels/tag.py "${1##*/}" <<<"$shown" || die "auditwheel gives another tag: $shown"
  PYTHONPATH=$PYPI python3 -m twine check --strict "$1" >&2 || die "twine refuses $1: see above"
}

# ./dev wheels, outside the root of the toolchain: the wheel is made inside.
wheels() {
  local pythons=3.13 torches=none,debian python torch wheel package failed=()
  while [ $# -ge 2 ]; do
    case $1 in
      --python) pythons=$2 ;;
      --torch) torches=$2 ;;
      *) break ;;
    esac
    shift 2
  done
  [ $# = 0 ] || die "usage: ./dev wheels [--python 3.11,3.13] [--torch none,debian,2.6,2.9,2.15]"
  for torch in ${torches//,/ }; do
    case $torch in none | debian) continue ;; esac
    [ -f "$TOP/tests/wheels/torch-$torch-requirements.txt" ] || die "--torch must be none, debian, or a version of tests/wheels, got $torch"
  done
  wheel=$("$TOP/dev" wheel | tail -n 1)
  [ -f "$TOP/$wheel" ] || die "the wheel could not be made: see above"
  package=$("$TOP/dev" package | tail -n 1)
  [ -f "$TOP/$package" ] || die "the npm package could not be made: see above"
  say "${wheel##*/} has $(stat -c %s "$TOP/$wheel") bytes"
  for python in ${pythons//,/ }; do
    for torch in ${torches//,/ }; do
      [ "$python $torch" != "3.11 debian" ] || continue # Debian 12 has no PyTorch that is new enough
      (test_wheel "$python" "$TOP/$wheel" "$torch" "$TOP/$package") || failed+=("$python with PyTorch $torch")
    done
  done
  [ ${#failed[@]} = 0 ] || die "the wheel failed with Python $(printf '%s; ' "${failed[@]}")"
}
