#!/bin/sh
# unpack.sh TARS OUT: unpacks from the source package xnnpack (TARS/*.orig.tar.*) the kernels for products of float32
# matrices and the headers, and changes what is not PyTorch's meaning, or less exact than PyTorch.
#
# NaN. PyTorch's clamp and relu pass it on; XNNPACK's depend on the order of operands, on the machine and
# on the engine. A clamp needs only the right order: pmax(a, b) is `a < b ? b : a`, so a NaN in a stays;
# MAXPS gives its second operand when either is NaN, so there the value comes second.
#
# Biases. XNNPACK's sums begin with them, so that each product is rounded to what the bias can hold: sums that
# are small beside it lose their last bits, which a norm across rows (of MLP-Mixer, GroupViT) makes much of.
# PyTorch adds the bias to the sum.
set -eu
tars=$1 out=$2
mkdir -p "$out/all"
# Some of Debian's tars have a top folder, some have not.
tar -xf "$(ls "$tars"/xnnpack_*.orig.tar.*)" -C "$out/all" --wildcards --wildcards-match-slash \
  '*LICENSE' '*include/xnnpack.h' '*src/xnnpack/*.h' '*src/f32-gemm/gen/*.c' '*src/f32-igemm/gen/*.c'
top=$out/all
[ -f "$top/LICENSE" ] || top=$(echo "$out"/all/*)
mv "$top/LICENSE" "$top/include" "$top/src" "$out"
rm -r "$out/all"
cd "$out"

fail() {
  echo "unpack.sh: $*: this XNNPACK is not the one that the changes were written for" >&2
  exit 1
}

# 1. Clamps.
bound='v(min|max)'
kernels=$(find src -name '*.c')
echo "$kernels" | xargs grep -lE "wasm_f32x4_pmax\($bound, \w+\)" >/dev/null || fail "no pmax clamp"
echo "$kernels" | xargs grep -lE "wasm_f32x4_relaxed_max\($bound, \w+\)" >/dev/null || fail "no relaxed clamp"
echo "$kernels" | xargs grep -lE "_mm_max_ps\(\w+, $bound\)" >/dev/null || fail "no SSE clamp"
echo "$kernels" | xargs sed -E -i \
  -e "s/wasm_f32x4_(p|relaxed_)(max|min)\(($bound), (\w+)\)/wasm_f32x4_p\2(\5, \3)/g" \
  -e "s/(_mm(256_|512_|_)(max|min)_[ps]s)\((\w+), ($bound)\)/\1(\5, \4)/g"
left=$(echo "$kernels" | xargs grep -nE \
  "wasm_f32x4_p(max|min)\($bound,|wasm_f32x4_relaxed_(max|min)|_mm[0-9]*_(max|min)_[ps]s\([^(),]*, *$bound\)" || true)
[ -z "$left" ] || fail "clamps are left that lose NaN: $left"

# 2. The plain C kernels all go through two functions.
for op in 'min <' 'max >'; do
  name=${op% *} sign=${op#* }
  grep -Eq "^XNN_INLINE static float math_${name}_f32\(float a, float b\) \{" src/xnnpack/math.h ||
    fail "src/xnnpack/math.h has no math_${name}_f32"
  sed -E -i "/^XNN_INLINE static float math_${name}_f32\(/,/^\}/c\\
XNN_INLINE static float math_${name}_f32(float a, float b) {\\
  return XNN_UNPREDICTABLE(b $sign a || b != b) ? b : a;\\
}" src/xnnpack/math.h
done

# 3. Biases: sums begin with 0; the first line behind the loop that bounds or stores adds what was loaded before it.
# A kernel whose vectors are not among these stays as it is; tests/c/test_kernels_xnn.c looks at those that are compiled.
for kernel in $kernels; do
  awk '
    BEGIN {
      zero["float"] = "0.0f"
      zero["v128_t"] = "wasm_f32x4_const_splat(0.0f)"; add["v128_t"] = "wasm_f32x4_add"
      zero["__m128"] = "_mm_setzero_ps()"; add["__m128"] = "_mm_add_ps"
      zero["__m256"] = "_mm256_setzero_ps()"; add["__m256"] = "_mm256_add_ps"
    }
    /^    [a-z0-9_]+ vacc0[0-9A-Fx]+ =.*[( ]w[^a-z]/ && $1 in zero && !done {
      if (!n) print "    const float* vbias = w;"
      load = $0; sub(/^[^=]*= /, "", load); sub(/;$/, "", load)
      if ($1 == "float") sub(/^w/, "vbias", load); else sub(/\(w/, "(vbias", load)
      type = $1; of[$2] = load; name[n++] = $2; from[$2] = $2
      print "    " $1 " " $2 " = " zero[$1] ";"
      next
    }
    n && !done && NF == 4 && substr($4, 1, length($4) - 1) in of && $1 == type && $3 == "=" {
      from[$2] = substr($4, 1, length($4) - 1); name[n++] = $2
    }
    n && !done && /^    (vacc[0-9A-Fx]+ = [a-z0-9_]*(min|max)[a-z0-9_]*\(|if XNN_LIKELY\(nc)/ {
      for (i = 0; i < n; i++)
        if (type == "float") print "    " name[i] " += " of[from[name[i]]] ";"
        else print "    " name[i] " = " add[type] "(" name[i] ", " of[from[name[i]]] ");"
      done = 1
    }
    { print }
    END { if (n && !done) exit 1 }' "$kernel" >kernel.new || fail "$kernel adds no bias"
  mv kernel.new "$kernel"
done

: >"$out/rushlight-patched"
