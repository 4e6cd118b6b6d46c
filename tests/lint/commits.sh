#!/bin/bash
# Checks the message of each commit since this file was added: `area: what changes` in at most 72 characters, a blank
# line, and a body that says why. In a shallow clone without this history, it checks nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
first=$(git log --diff-filter=A --format=%H -- tests/lint/commits.sh 2>/dev/null | tail -n 1)
[ -n "$first" ] && [ "$(git rev-parse --is-shallow-repository)" = false ] || exit 0
status=0
for commit in $(git rev-list --no-merges "$first..HEAD"); do
  subject=$(git log -1 --format=%s "$commit") body=$(git log -1 --format=%b "$commit")
  fault=
  [[ $subject =~ ^[a-z][a-z0-9\ ,._/-]*:\ [^\ ] ]] || fault="the subject must have the form 'area: what changes'"
  [ ${#subject} -le 72 ] || fault="the subject must have at most 72 characters, got ${#subject}"
  [ -n "$body" ] || fault="the message must have a body that says why, and how it was checked"
  [ -z "$fault" ] || { echo "commit ${commit:0:9} ($subject): $fault" && status=1; }
done
exit "$status"
