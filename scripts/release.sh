# shellcheck shell=bash
# Makes everything that a release has, in build/release. ./dev sources this file.
# Uses TOP, say, die, verb_package, verb_docs, verb_wheel.

# check_installs FOLDER: installs both packages from a plain folder, without a registry, and has both tools verify the model of the npm
# package. ./dev wheels tries both in bare roots.
check_installs() {
  local home status=0
  home=$(mktemp -d)
  # shellcheck disable=SC2016
  env -u PYTHONPATH -u RUSH_NATIVE bash -euc '
    cd "$2"
    python3 -m venv --system-site-packages venv
    venv/bin/pip install --quiet --no-index --no-deps --find-links "$1" rushlight
    npm install --silent --offline --no-audit --no-fund "$1"/rushlight-*.tgz
    venv/bin/rushlight verify node_modules/rushlight/gate.rush
    node_modules/.bin/rushlight verify node_modules/rushlight/gate.rush' bash "$(realpath "$1")" "$home" >&2 || status=1
  rm -rf "$home"
  return $status
}

verb_release() {
  local tag=()
  case "$#${1:-}" in
    1--dry-run) ;;
    2--tag) tag=("$2") ;;
    *) die "usage: ./dev release --dry-run, or ./dev release --tag TAG: see docs/release.md" ;;
  esac
  cd "$TOP"
  [ -z "$(git status --porcelain --untracked-files=no)" ] || die "a release must be made of a commit: the checkout has changes"
  local out=build/release version epoch package wheel
  version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' js/package.json)
  epoch=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH=$epoch # for the times in the wheel
  rm -rf "$out" && mkdir -p "$out"
  package=$(verb_package | tail -n 1)
  wheel=$(verb_wheel | tail -n 1)
  cp "$package" "$wheel" "$out"
  (verb_docs) || die "the documentation could not be made: see above"
  git archive --format=tar --prefix="rushlight-$version/" HEAD | gzip -n >"$out/rushlight-$version-source.tar.gz"
  tar --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner -C build -c docs | gzip -n >"$out/rushlight-$version-docs.tar.gz"
  python3 scripts/release.py "$out" "${tag[@]}" || die "the release is not complete: see above"
  check_installs "$out" || die "the packages could not be installed from $out: see above"
  say "the release is $out; nothing was published"
}
