#!/bin/bash
# Runs the C tests of the relaxed build. ctest always uses Debian's Node 20, which does not support relaxed SIMD.
node=${RUSH_NODE_CURRENT:?./dev sets it: a Node that has relaxed SIMD}
failed=()
for test in "$(dirname "$0")"/../../build/relaxed/bin/test_*.js; do
  "$node" "$test" >/tmp/relaxed.$$ 2>&1 || { failed+=("$(basename "$test" .js)"); cat /tmp/relaxed.$$; }
  grep -h 'test(s) run' /tmp/relaxed.$$
done
# This V8 flag on x86-64 makes relaxed_dot behave as on processors without exact products of bytes.
old=--no-enable-avx-vnni
if "$node" $old -e 0 2>/dev/null; then
  test="$(dirname "$0")"/../../build/relaxed/bin/test_kernels_int8.js
  "$node" $old "$test" >/tmp/relaxed.$$ 2>&1 || { failed+=("test_kernels_int8 $old"); cat /tmp/relaxed.$$; }
fi
rm -f /tmp/relaxed.$$
[ ${#failed[@]} = 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
