/* Times the kernel's variants and plain C, which a kernel's test compares. `./dev bench --kernels`
 * runs the test programs with --times, which prints a line of JSON for each TIMED and tests
 * nothing. */
#ifndef RUSH_TESTS_TIMED_H
#define RUSH_TESTS_TIMED_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The number of rounds. A round has many runs, and the shortest round counts. */
enum { TIMED_ROUNDS = 7 };
#define TIMED_LEAST 0.5e-3 /* seconds of a round */
static struct {
  bool wanted;
  size_t left, count;
  int round;
  double start, best;
} timed;

static inline double timed_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void timed_begin(void) {
  timed.left = timed.count = 1;
  timed.round = 0;
  timed.best = 1e9;
  timed.start = timed_now();
}
/* Returns whether the statement must run once more. */
static inline bool timed_more(void) {
  if (--timed.left > 0) return true;
  const double took = timed_now() - timed.start;
  if (took < TIMED_LEAST) {
    timed.count *= 2;
  } else {
    if (took / (double)timed.count < timed.best) timed.best = took / (double)timed.count;
    if (++timed.round == TIMED_ROUNDS) return false;
  }
  timed.left = timed.count;
  timed.start = timed_now();
  return true;
}
static inline void timed_print(const char *kernel, const char *row, const char *variant,
                               double operations, double bytes) {
  printf(
      "{\"kernel\": \"%s\", \"row\": \"%s\", \"variant\": \"%s\", \"ns\": %.2f, \"operations\": "
      "%.0f, \"bytes\": %.0f}\n",
      kernel, row, variant, 1e9 * timed.best, operations, bytes);
}

#define PLAIN "plain C"
/* Names the variants of a function that exists for each vector width. Number 0 is the public one,
 * and those of x86-64 follow. */
static inline const char *timed_width(size_t w) {
  return w == 0 ? "kernel" : w == 1 ? "SSE2" : w == 2 ? "AVX2" : "AVX-512";
}
/* Times the statement, which may run many times. `operations` counts products and sums of floats or
 * integers, and `bytes` counts memory reads and writes. Both are 0 if they mean little. */
#define TIMED(kernel, row, variant, operations, bytes, ...)                     \
  do {                                                                          \
    __VA_ARGS__;                                                                \
    if (timed.wanted) {                                                         \
      timed_begin();                                                            \
      do {                                                                      \
        __VA_ARGS__;                                                            \
      } while (timed_more());                                                   \
      timed_print(kernel, row, variant, (double)(operations), (double)(bytes)); \
    }                                                                           \
  } while (0)

/* Returns whether the program was started to time its rows. */
static inline bool timed_wanted(int argc, char **argv) {
  return timed.wanted = argc > 1 && strcmp(argv[1], "--times") == 0;
}

#endif
