/* The part of cpuinfo that XNNPACK asks on x86-64, from the compiler's builtins (which look at what
 * the operating system saves, too). */
#pragma once
#include <stdbool.h>

static inline bool cpuinfo_initialize(void) {
  __builtin_cpu_init();
  return true;
}
static inline bool cpuinfo_has_x86_ssse3(void) {
  return __builtin_cpu_supports("ssse3");
}
static inline bool cpuinfo_has_x86_sse4_1(void) {
  return __builtin_cpu_supports("sse4.1");
}
static inline bool cpuinfo_has_x86_avx(void) {
  return __builtin_cpu_supports("avx");
}
static inline bool cpuinfo_has_x86_f16c(void) {
  return __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
}
static inline bool cpuinfo_has_x86_fma3(void) {
  return __builtin_cpu_supports("fma");
}
static inline bool cpuinfo_has_x86_avx2(void) {
  return __builtin_cpu_supports("avx2");
}

/* Asked only to give Zen 1, whose AVX registers are split in two, narrower tiles. */
enum cpuinfo_uarch { cpuinfo_uarch_unknown, cpuinfo_uarch_zen, cpuinfo_uarch_dhyana };
struct cpuinfo_core {
  enum cpuinfo_uarch uarch;
};
static inline const struct cpuinfo_core *cpuinfo_get_core(unsigned index) {
  static const struct cpuinfo_core unknown = {cpuinfo_uarch_unknown}, zen = {cpuinfo_uarch_zen};
  (void)index;
  return __builtin_cpu_is("znver1") ? &zen : &unknown;
}
