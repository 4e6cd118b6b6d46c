#!/bin/sh
# unpack.sh TARS OUT: unpacks the source packages xnnpack, pthreadpool and fxdiv (TARS/*.orig.tar.*)
# to OUT/{xnnpack,pthreadpool,fxdiv}, and changes what is not PyTorch's meaning.
#
# NaN. PyTorch's relu, clamp, maximum, minimum and max pooling pass it on; XNNPACK's depend on the
# order of operands, on the machine and on the engine.
#   A clamp needs only the right order: pmax(a, b) is `a < b ? b : a`, so a NaN in a stays; MAXPS
#   gives its second operand when either is NaN, so there the value comes second.
#   Between two values (max pooling, binary maximum) either may be NaN.
set -eu
tars=$1 out=$2
mkdir -p "$out"
for name in xnnpack pthreadpool fxdiv; do
  mkdir "$out/$name"
  tar -xf "$(ls "$tars/${name}"_*.orig.tar.*)" -C "$out/$name"
  # Some of Debian's tars have a top folder, some have not.
  if [ ! -f "$out/$name/LICENSE" ]; then
    mv "$out/$name" "$out/$name.top"
    mv "$out/$name.top"/* "$out/$name"
    rmdir "$out/$name.top"
  fi
done
cd "$out/xnnpack"

fail() {
  echo "unpack.sh: $*: this XNNPACK is not the one that the changes were written for" >&2
  exit 1
}
# change FILE PATTERN SED-ARGUMENT...: PATTERN has to occur in FILE before.
change() {
  file=$1 pattern=$2
  shift 2
  grep -Eq "$pattern" "$file" || fail "$file has no '$pattern'"
  sed -E -i "$@" "$file"
}
# families PATTERN: the float kernels whose family matches (fails if there is none)
families() {
  found=$(find src -mindepth 1 -maxdepth 1 -type d | grep -E "^src/(f32|qd8-f32)-" | grep -E "$1") ||
    fail "no kernels '$1'"
  find $found -name '*.c'
}

# 1. Clamps.
bound='v(y_|output_)?(min|max)'
clamps=$(families '(gemm|dwconv|conv-hwc|avgpool|spmm|vclamp|vmulcaddc|vrelu|dwconv2d)')
echo "$clamps" | xargs grep -lE "wasm_f32x4_pmax\($bound, \w+\)" >/dev/null || fail "no pmax clamp"
echo "$clamps" | xargs grep -lE "wasm_f32x4_relaxed_max\($bound, \w+\)" >/dev/null || fail "no relaxed clamp"
echo "$clamps" | xargs grep -lE "_mm_max_ps\(\w+, $bound\)" >/dev/null || fail "no SSE clamp"
echo "$clamps" | xargs grep -lE "wasm_i32x4_max\(\w+, vzero\)" >/dev/null || fail "no relu"
echo "$clamps" | xargs sed -E -i \
  -e "s/wasm_f32x4_(p|relaxed_)(max|min)\(($bound), (\w+)\)/wasm_f32x4_p\2(\6, \3)/g" \
  -e "s/wasm_f32x4_relaxed_(max|min)\((\w+), ($bound)\)/wasm_f32x4_p\1(\2, \3)/g" \
  -e "s/(_mm(256_|512_|_)(max|min)_[ps]s)\((\w+), ($bound)\)/\1(\5, \4)/g" \
  -e "s/wasm_i32x4_max\((\w+), vzero\)/wasm_f32x4_pmax(\1, vzero)/g"
left=$(echo "$clamps" | xargs grep -nE \
  "wasm_f32x4_p(max|min)\($bound,|wasm_f32x4_relaxed_(max|min)|wasm_i32x4_max|_mm[0-9]*_(max|min)_[ps]s\([^(),]*, *$bound\)" || true)
[ -z "$left" ] || fail "clamps are left that lose NaN: $left"

# 2. elu's cut-off is a clamp too.
elu=$(families '^src/f32-velu$')
echo "$elu" | xargs grep -lE 'wasm_f32x4_(pmax|relaxed_max)\(vsat_cutoff' >/dev/null || fail "no elu"
echo "$elu" | xargs sed -E -i \
  's/wasm_f32x4_(pmax|relaxed_max)\(vsat_cutoff, (wasm_f32x4_mul\(\w+, \w+\))\)/wasm_f32x4_pmax(\2, vsat_cutoff)/g'
left=$(echo "$elu" | xargs grep -nE 'wasm_f32x4_\w*max\(vsat_cutoff' | grep -v 'f32x4_max(' || true)
[ -z "$left" ] || fail "elu kernels are left that lose NaN: $left"

# 3. Between two values: wasm's own min and max pass NaN on; for x86 there are helpers.
pairs=$(families '^src/f32-(maxpool|vbinary)$')
echo "$pairs" | xargs grep -lE 'wasm_f32x4_pmax\(' >/dev/null || fail "no pmax between values"
echo "$pairs" | xargs sed -E -i \
  -e 's/wasm_f32x4_p(max|min)\(/wasm_f32x4_\1(/g' \
  -e 's/\b_mm(256)?_(max|min)_ps\(/rush_mm\1_\2_ps(/g'
echo "$pairs" | xargs grep -lE 'rush_mm[0-9]*_' | xargs sed -i '1i #include "xnnpack/rushlight-nan.h"'
cat >src/xnnpack/rushlight-nan.h <<'END'
// Minimum and maximum that are NaN where either operand is.
#pragma once
#include <immintrin.h>
static inline __m128 rush_mm_max_ps(__m128 a, __m128 b) {
  return _mm_or_ps(_mm_max_ps(a, b), _mm_cmpunord_ps(a, a));
}
static inline __m128 rush_mm_min_ps(__m128 a, __m128 b) {
  return _mm_or_ps(_mm_min_ps(a, b), _mm_cmpunord_ps(a, a));
}
#ifdef __AVX__
static inline __m256 rush_mm256_max_ps(__m256 a, __m256 b) {
  return _mm256_or_ps(_mm256_max_ps(a, b), _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}
static inline __m256 rush_mm256_min_ps(__m256 a, __m256 b) {
  return _mm256_or_ps(_mm256_min_ps(a, b), _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}
#endif
END

# 4. The plain C kernels all go through two functions.
for op in 'min <' 'max >'; do
  name=${op% *} sign=${op#* }
  change src/xnnpack/math.h "^XNN_INLINE static float math_${name}_f32\(float a, float b\) \{" \
    "/^XNN_INLINE static float math_${name}_f32\(/,/^\}/c\\
XNN_INLINE static float math_${name}_f32(float a, float b) {\\
  return XNN_UNPREDICTABLE(b $sign a || b != b) ? b : a;\\
}"
done

# 5. Plain C kernels on any machine: no architecture is known when RUSH_XNN_SCALAR is set.
change src/xnnpack/common.h '^// Define platform identification macros' \
  '/^\/\/ Define platform identification macros/i\
#if RUSH_XNN_SCALAR\
  #undef XNN_ARCH_X86\
  #undef XNN_ARCH_X86_64\
  #undef XNN_ARCH_ARM\
  #undef XNN_ARCH_ARM64\
  #undef XNN_ARCH_PPC64\
  #undef XNN_ARCH_RISCV\
  #define XNN_ARCH_X86 0\
  #define XNN_ARCH_X86_64 0\
  #define XNN_ARCH_ARM 0\
  #define XNN_ARCH_ARM64 0\
  #define XNN_ARCH_PPC64 0\
  #define XNN_ARCH_RISCV 0\
#endif\
'

change src/xnnpack/hardware-config.h '^enum xnn_arch_flags \{' \
  's/^enum xnn_arch_flags \{/enum xnn_arch_flags { xnn_arch_none = 0,/'

# 6. The number of cores decides nothing that it should: no import from JavaScript for it, and the
# same kernels in Node and in a page.
change src/configs/gemm-config.c '^  EM_JS\(int, hardware_concurrency, \(void\), \{' \
  '/^  EM_JS\(int, hardware_concurrency/,/^  \}\);/c\
  static int hardware_concurrency(void) { return 8; }'

: >"$out/rushlight-patched"
