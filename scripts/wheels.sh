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

# test_wheel PYTHON WHEEL PACKAGE CHECK: installs a wheel in a bare root with this Debian package and runs a check of tests/wheels.
test_wheel() {
  local python=$1 wheel=$2 package=$3 check=$4 home
  ensure_bare_root "$python" "$package"
  home=$(mktemp -d)
  cp "$wheel" "$TOP"/tests/wheels/*.py "$TOP/tests/exporter/stored/version-1.rush" "$home"
  say "testing ${wheel##*/} with Python $python and $package"
  in_bare_root "$BARE" "$home" sh -eu -c '
    ! command -v cc g++ cmake git || exit
    python3 -m venv --system-site-packages venv
    before=$(date +%s)
    venv/bin/pip install --quiet --no-index --no-deps ./*.whl
    echo "installed in $(($(date +%s) - before)) s, $(du -sk venv/lib/python3*/site-packages/rushlight | cut -f1) kB"
    rm ./*.whl' &&
    in_bare_root "$BARE" "$home" venv/bin/python "$check"
  local status=$?
  rm -rf "$home"
  return $status
}

# Makes the wheel, and prints its path.
verb_wheel() {
  TARGETS=(all)
  verb_build native >&2
  cd "$TOP"
  local part=build/wheel.$$ wheel
  RUSH_TORCH=OFF python3 -m pip wheel --quiet --no-index --no-build-isolation --no-deps --wheel-dir "$part" ./exporter/python >&2 ||
    die "pip could not make the wheel: see above"
  wheel=$(echo "$part"/*.whl)
  mkdir -p build/wheels && mv "$wheel" build/wheels && rmdir "$part"
  echo "build/wheels/${wheel##*/}"
}

# ./dev wheels, outside the root of the toolchain: the wheel is made inside.
wheels() {
  local pythons=3.13 python wheel failed=()
  if [ "${1:-}" = --python ]; then
    pythons=${2:-}
    shift 2 || die "--python must be followed by a list, such as 3.11,3.13"
  fi
  [ $# = 0 ] || die "usage: ./dev wheels [--python 3.11,3.13]"
  wheel=$("$TOP/dev" wheel | tail -n 1)
  [ -f "$TOP/$wheel" ] || die "the wheel could not be made: see above"
  say "${wheel##*/} has $(stat -c %s "$TOP/$wheel") bytes"
  for python in ${pythons//,/ }; do
    (test_wheel "$python" "$TOP/$wheel" python3-numpy check_without_torch.py) || failed+=("$python")
    # Debian 12 has no PyTorch that is new enough.
    [ "$python" = 3.11 ] || (test_wheel "$python" "$TOP/$wheel" python3-torch check_with_torch.py) || failed+=("$python with PyTorch")
  done
  [ ${#failed[@]} = 0 ] || die "the wheel failed with Python ${failed[*]}"
}
