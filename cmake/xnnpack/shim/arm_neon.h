/* Two of XNNPACK's wasm kernels include <arm_neon.h> and use only wasm_simd128.h; Debian's
 * Emscripten ships that header without the files behind it. */
#include <wasm_simd128.h>
