/* Compares transforms of every length with the sum that defines them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "timed.h"

#include "kernels/fft.h"

enum { MOST = 2100 };
static double complex in[MOST], out[MOST], roots[MOST], line[MOST];

/* Returns the greatest distance of out[0 .. some] from the sum, divided by the input's size. */
static double error_of(size_t n, size_t some) {
  double most = 0, size = 0;
  for (size_t k = 0; k < n; k++) {
    const double angle = 6.28318530717958647693 * (double)k / (double)n;
    roots[k] = cos(angle) - I * sin(angle);
    size = fmax(size, cabs(in[k]));
  }
  for (size_t k = 0; k < some; k++) {
    double complex sum = 0;
    for (size_t j = 0, at = 0; j < n; j++, at = (at + k) % n) sum += in[j] * roots[at];
    most = fmax(most, cabs(sum - out[k]));
  }
  return most / (size * (double)n);
}

static double complex *plan_of(size_t n, bool real, rush_fft *plan) {
  double complex *memory = malloc(rush_fft_plan(NULL, n, real, plan) * sizeof *memory);
  rush_fft_init(plan, memory);
  return memory;
}

static void check_complex(size_t n) {
  rush_fft plan;
  double complex *memory = plan_of(n, false, &plan);
  char row[32];
  snprintf(row, sizeof row, "%zu complex numbers", n);
  TIMED("fft", row, "kernel", 0, 0, rush_fft_run(&plan, in, out));
  if (timed.wanted) TIMED("fft", row, PLAIN, 0, 0, error_of(n, n));
  if (error_of(n, n) > 1e-15) fail_msg("length %zu: off by %g", n, error_of(n, n));
  free(memory);
}

/* Transforms the numbers, and back to n times the numbers. */
static void check_real(size_t n) {
  rush_fft plan;
  double complex *memory = plan_of(n, true, &plan);
  double *numbers = (double *)line;
  for (size_t k = 0; k < n; k++) numbers[k] = creal(in[k] = creal(in[k]));
  rush_fft_from_real(&plan, line, out);
  if (error_of(n, n / 2 + 1) > 1e-15)
    fail_msg("real length %zu: off by %g", n, error_of(n, n / 2 + 1));
  rush_fft_to_real(&plan, out, line);
  for (size_t k = 0; k < n; k++)
    if (fabs(numbers[k] / (double)n - creal(in[k])) > 1e-13)
      fail_msg("real length %zu: %g came back at %zu for %g", n, numbers[k] / (double)n, k,
               creal(in[k]));
  free(memory);
}

static void check_length(size_t n) {
  uint32_t state = (uint32_t)n;
  for (size_t k = 0; k < n; k++) {
    state = state * 1664525u + 1013904223u;
    in[k] = (state >> 8) / 16777216.0 - 0.5 + I * ((state & 0xffff) / 65536.0 - 0.5);
  }
  check_complex(n);
  check_real(n);
}

static void short_lengths(void **state) {
  (void)state;
  for (size_t n = 1; n <= 260; n++) check_length(n);
}

/* Tests lengths beyond the work between two polls of the host, a prime and unusual factors. */
static void long_lengths(void **state) {
  (void)state;
  check_length(2048);
  check_length(2053);
  check_length(2 * 1021);
  check_length(43 * 47);
}

static void time_rows(void) {
  static const size_t lengths[] = {64, 100, 256, 257, 1021};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) check_complex(lengths[i]);
}

int main(int argc, char **argv) {
  if (timed_wanted(argc, argv)) return time_rows(), 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(short_lengths),
      cmocka_unit_test(long_lengths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
