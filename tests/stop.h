/* Limits how long a run may continue after the host asks it to end. tests/c/test_stops.c and
 * fuzz_run check a generous limit, and `./dev bench --stops` measures the time. A clock sees work
 * that is not counted. In a coverage build, test_stops counts that work, too. Define
 * _POSIX_C_SOURCE as 200809L before all headers. */
#ifndef RUSH_TESTS_STOP_H
#define RUSH_TESTS_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The limit in seconds. */
#ifdef __wasm__
#define STOP_PROMISE 0.25
#define STOP_IS_JUDGED false
#else
#define STOP_PROMISE 0.1
#define STOP_IS_JUDGED true
#endif

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||       \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define STOP_LIMIT (50 * STOP_PROMISE)
#else
#define STOP_LIMIT (10 * STOP_PROMISE)
#endif

/* Returns the seconds that this thread has worked, without other processes. Before version 23.9,
 * Node knows only the time of all its threads, which compile while the first rows run. So the time
 * is measured there and not checked. */
#ifdef __wasm__
#include <emscripten.h>
EM_JS(double, stop_clock, (void), {
  const {user, system} = process.threadCpuUsage ? process.threadCpuUsage() : process.cpuUsage();
  return 1e-6 * (user + system);
})
#else
static inline double stop_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#endif

/* The most steps between two polls. Each of them takes a few nanoseconds at most. */
#define STOP_STEPS 20000000

/* Returns the number of steps that the process has done: how often the regions of its source have
 * run, which a coverage build counts. They are the same on each machine. 0 in other builds. */
#ifdef STOP_COUNTS_STEPS
uint64_t *__llvm_profile_begin_counters(void);
uint64_t *__llvm_profile_end_counters(void);
static inline uint64_t stop_steps(void) {
  uint64_t steps = 0;
  for (uint64_t *c = __llvm_profile_begin_counters(); c < __llvm_profile_end_counters(); c++)
    steps += *c;
  return steps;
}
#else
static inline uint64_t stop_steps(void) {
  return 0;
}
#endif

/* A host that asks to stop from poll number `at` on. `worst` is the longest time between two polls,
 * or from the last poll to the end. A run could continue that long after a request. */
typedef struct stop_watch {
  int looks, at;
  double last, worst;
  uint64_t last_steps, most_steps; /* between two polls */
} stop_watch;

static inline void stop_see(stop_watch *w) {
  const double now = stop_clock();
  if (now - w->last > w->worst) w->worst = now - w->last;
  w->last = now;
  const uint64_t steps = stop_steps();
  if (steps - w->last_steps > w->most_steps) w->most_steps = steps - w->last_steps;
  w->last_steps = steps;
}
static inline stop_watch stop_begin(int at) {
  return (stop_watch){.at = at, .last = stop_clock(), .last_steps = stop_steps()};
}
/* rush_poll_fn */
static inline bool stop_ask(void *watch) {
  stop_watch *w = watch;
  stop_see(w);
  return ++w->looks >= w->at;
}

#endif
