#!/bin/bash
# Runs the C tests of the relaxed build, which Debian's Node 20 cannot: ctest always takes that one.
node=${RUSH_NODE_CURRENT:?./dev sets it: a Node that has relaxed SIMD}
failed=()
for test in "$(dirname "$0")"/../../build/relaxed/bin/test_*.js; do
  "$node" "$test" >/tmp/relaxed.$$ 2>&1 || { failed+=("$(basename "$test" .js)"); cat /tmp/relaxed.$$; }
  grep -h 'test(s) run' /tmp/relaxed.$$
done
rm -f /tmp/relaxed.$$
[ ${#failed[@]} = 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
