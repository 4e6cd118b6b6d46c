# shellcheck shell=bash
# Provides the Debian 13 in which everything runs. ./dev sources this file. On a Debian 13 the packages are installed.
# Elsewhere mmdebstrap makes a root with them in the user's cache, and bwrap (or chroot, if there are no namespaces)
# runs ./dev again inside it. Uses TOP, RUSH_CACHE, say, die, key_of.

packages() { sed 's/#.*//; /^ *$/d' "$TOP/cmake/debian-packages${1:+-$1}.txt"; } # [engines|lint]

# Runs the command as root.
privileged() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "installing the tools needs root: run ./dev as root, or install sudo"
  fi
}

is_debian_13() {
  # shellcheck source=/dev/null
  [ -r /etc/os-release ] && (. /etc/os-release && [ "${ID:-}${VERSION_ID:-}" = debian13 ])
}

apt_install() {
  command -v apt-get >/dev/null ||
    die "'$1' is missing and this system is not Debian: install it yourself, or use ./dev --host"
  mkdir -p "$RUSH_CACHE"
  exec 8>"$RUSH_CACHE/apt.lock" # apt-get update does not wait for another one
  flock 8
  say "installing $*"
  privileged env DEBIAN_FRONTEND=noninteractive apt-get -qq update >&2 8>&- ||
    die "apt-get update failed: check this machine's network and /etc/apt/sources.list"
  privileged env DEBIAN_FRONTEND=noninteractive apt-get -y -qq -o Acquire::Retries=5 \
    -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 install --no-install-recommends "$@" >&2 8>&- ||
    die "apt-get could not install $1: run 'apt-get install $1' for details"
  exec 8>&-
}

make_root() { # DIR
  local proxy opts=()
  # mmdebstrap does not read this machine's apt settings, so the proxy is passed to it.
  for proxy in http https; do
    proxy=$(apt-config dump 2>/dev/null | grep -i "^Acquire::$proxy::Proxy " || true)
    [ -z "$proxy" ] || opts+=("--aptopt=$proxy")
  done
  # The hooks add deb-src lines for XNNPACK's sources, and files over which bwrap binds.
  # shellcheck disable=SC2016
  # It has a mount namespace of its own, so that no mount stays in an unfinished root if it is killed.
  privileged unshare --mount --propagation private \
    mmdebstrap --variant=minbase "${opts[@]}" \
    --aptopt='Acquire::Retries "5"' --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --include="$(packages | paste -sd,)" \
    --customize-hook='cd "$1/etc/apt" && sed -n "s/^deb /deb-src /p" sources.list > sources.list.d/source.list' \
    --customize-hook='touch "$1/etc/resolv.conf" "$1/etc/hosts" "$1/etc/npmrc" "$1/etc/pip.conf"' \
    trixie "$1" >&2
}

ensure_root() {
  ROOT=$RUSH_CACHE/root-$( (packages; declare -f make_root) | key_of)
  [ -e "$ROOT/etc/debian_version" ] && return
  command -v mmdebstrap >/dev/null || apt_install mmdebstrap
  mkdir -p "$RUSH_CACHE"
  exec 9>"$RUSH_CACHE/root.lock"
  flock -n 9 || { say "waiting for another ./dev that sets up"; flock 9; }
  if [ ! -e "$ROOT/etc/debian_version" ]; then
    local free
    free=$(df -Pm "$RUSH_CACHE" | awk 'NR == 2 {print $4}')
    [ "$free" -gt 8000 ] ||
      die "the tools need 8 GB in $RUSH_CACHE, but only $free MB are free: free some space or set RUSH_CACHE"
    privileged rm -rf --one-file-system "$RUSH_CACHE"/root-*.part
    say "making a Debian 13 root in $ROOT (2 to 4 minutes, 5.3 GB)"
    make_root "$ROOT.part" || # its text is part of the root's name
      die "the Debian 13 root could not be made: check the network and run ./dev setup again"
    privileged mv "$ROOT.part" "$ROOT"
    say "done in $SECONDS s"
  fi
  exec 9>&-
}

add_packages() { # ROOT DIR
  # dpkg replaces most files and does not write to them. The files that it writes to are copied.
  privileged cp -al "$1" "$2" && privileged rm -r "$2"/{etc,var} && privileged cp -a "$1"/{etc,var} "$2" || return
  # shellcheck disable=SC2016,SC2046
  privileged unshare --mount --propagation private sh -c '
    for f in /dev /etc/ssl/certs /etc/resolv.conf /etc/hosts; do mount --rbind "$(readlink -f "$f")" "$1$f" || exit; done
    exec chroot "$@"' sh "$2" \
    sh -c 'apt-get -qq update && exec apt-get -y -qq -o Acquire::Retries=5 -o Dpkg::Use-Pty=0 install --no-install-recommends "$@"' \
    sh $(packages engines) >&2
}

# Adds Firefox and WebKitGTK to a copy of the root. Both roots share their common files on the disk.
ensure_engines_root() {
  local root=$ROOT
  ROOT=$ROOT-$(packages engines | key_of)
  [ -e "$ROOT/etc/debian_version" ] && return
  exec 9>"$RUSH_CACHE/root.lock"
  flock 9
  if [ ! -e "$ROOT/etc/debian_version" ]; then
    say "adding $(packages engines | paste -sd' ') to the root (2 minutes, 700 MB)"
    privileged rm -rf --one-file-system "$ROOT.part"
    add_packages "$root" "$ROOT.part" || die "Firefox and WebKitGTK could not be installed: see above"
    privileged mv "$ROOT.part" "$ROOT"
  fi
  exec 9>&-
}

ensure_debian_13() { # [engines|lint]
  local stamp=$RUSH_CACHE/packages${1:+-$1} want
  want=$(packages "$@" | key_of)
  [ "$(cat "$stamp" 2>/dev/null)" = "$want" ] && return
  # shellcheck disable=SC2046
  if [ "$(dpkg-query -W -f '${db:Status-Abbrev}\n' $(packages "$@") 2>/dev/null | grep -c '^ii')" != \
    "$(packages "$@" | wc -l)" ]; then
    apt_install $(packages "$@")
  fi
  mkdir -p "$RUSH_CACHE"
  echo "$want" >"$stamp"
}

# Runs this script again inside the root, with a read-only system and a separate home. The checkout, the
# cache, /tmp, the certificates and the name resolution are those of this machine.
enter_root() {
  local home=$RUSH_CACHE/home f bind=() here=()
  mkdir -p "$home"
  # The working directory, which may be a project of the user.
  case $PWD/ in
    "$TOP"/* | "$RUSH_CACHE"/* | /tmp/*) ;;
    / | /usr/* | /etc/* | /var/* | /dev/* | /proc/* | /sys/* | /run/*) cd "$TOP" || exit ;;
    *) here=(--bind "$PWD" "$PWD") ;;
  esac
  for f in /etc/ssl/certs /etc/resolv.conf /etc/hosts; do
    [ -e "$f" ] && bind+=(--ro-bind "$(readlink -f "$f")" "$f")
  done
  for f in /etc/npmrc /etc/pip.conf; do [ -r "$f" ] && bind+=(--ro-bind "$f" "$f"); done
  for f in .npmrc .pip/pip.conf .config/pip/pip.conf .netrc; do
    [ -r "$HOME/$f" ] && bind+=(--ro-bind "$HOME/$f" "$home/$f")
  done
  # Files that settings of this machine refer to.
  for f in "${NODE_EXTRA_CA_CERTS:-}" "${SSL_CERT_FILE:-}" "${PIP_CERT:-}" ${PIP_FIND_LINKS:-} \
    "${PIP_CONFIG_FILE:-}" "${NPM_CONFIG_USERCONFIG:-}" "${npm_config_cafile:-}"; do
    case $f in /etc/ssl/certs/* | "$HOME"/.npmrc) ;; /*) [ -e "$f" ] && bind+=(--ro-bind "$f" "$f") ;; esac
  done
  [ "$(id -u)" = 0 ] || bind+=(--ro-bind /etc/passwd /etc/passwd --ro-bind /etc/group /etc/group)
  local env=(HOME="$home" RUSH_INSIDE=1 RUSH_CACHE="$RUSH_CACHE" LANG=C.UTF-8
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
  local drop=(-u PYTHONPATH -u PYTHONHOME -u VIRTUAL_ENV -u LD_LIBRARY_PATH -u LD_PRELOAD
    -u NODE_PATH -u XDG_CACHE_HOME -u XDG_CONFIG_HOME -u XDG_RUNTIME_DIR -u LC_ALL)

  if [ -z "${RUSH_CHROOT:-}" ]; then
    command -v bwrap >/dev/null || apt_install bubblewrap
    if bwrap --ro-bind "$ROOT/usr" /usr --symlink usr/lib64 /lib64 --symlink usr/lib /lib \
      --proc /proc --dev /dev /usr/bin/true 2>/dev/null; then
      exec env "${drop[@]}" "${env[@]}" bwrap --die-with-parent --unshare-pid \
        --tmpfs / --ro-bind "$ROOT/usr" /usr --ro-bind "$ROOT/etc" /etc --ro-bind "$ROOT/var" /var \
        --symlink usr/bin /bin --symlink usr/sbin /sbin \
        --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
        --dev /dev --proc /proc --ro-bind-try /sys /sys --tmpfs /dev/shm --tmpfs /run "${here[@]}" \
        --bind /tmp /tmp --tmpfs /var/tmp --bind "$RUSH_CACHE" "$RUSH_CACHE" --bind "$TOP" "$TOP" \
        "${bind[@]}" --chdir "$PWD" -- "$TOP/dev" "$@"
    fi
  fi

  # Without namespaces for bwrap, chroot does the same in a separate mount namespace.
  say "${RUSH_CHROOT:+RUSH_CHROOT is set, }using chroot instead of bubblewrap"
  # shellcheck disable=SC2016
  local i script='set -e; root=$1; shift'
  bind=("${here[@]}" "${bind[@]}" --rbind /dev /dev --rbind /proc /proc --rbind /sys /sys --bind /tmp /tmp
    --bind "$RUSH_CACHE" "$RUSH_CACHE" --bind "$TOP" "$TOP")
  for ((i = 0; i < ${#bind[@]}; i += 3)); do
    # shellcheck disable=SC2016
    script+=$(printf '; d=$root%q; s=%q; if [ -d "$s" ]; then mkdir -p "$d"; else mkdir -p "${d%%/*}"; touch "$d"; fi; mount --rbind "$s" "$d"' \
      "${bind[i + 2]}" "${bind[i + 1]}")
  done
  # shellcheck disable=SC2016
  script+='; exec chroot "$root" /bin/sh -c "cd \"\$1\" 2>/dev/null || cd /; shift; exec \"\$@\"" sh "$@"'
  privileged unshare -m --propagation private true 2>/dev/null ||
    die "bwrap and chroot cannot mount here: give the container CAP_SYS_ADMIN, or use ./dev --host"
  # shellcheck disable=SC2046
  exec env "${drop[@]}" "${env[@]}" $([ "$(id -u)" = 0 ] || echo sudo -E) unshare -m --propagation private \
    bash -c "$script" bash "$ROOT" "$PWD" "$TOP/dev" "$@"
}
