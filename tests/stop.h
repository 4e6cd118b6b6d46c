/* How long a run may go on after the host has asked it to end. Judged by tests/c/test_stops.c and
 * by fuzz_run, with much room, and measured by `./dev bench --stops`: work that is not counted is
 * seen by a clock alone. Define _POSIX_C_SOURCE as 200809L in front of all headers. */
#ifndef RUSH_TESTS_STOP_H
#define RUSH_TESTS_STOP_H

#include <stdbool.h>
#include <time.h>

/* What is promised, in seconds. */
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
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STOP_LIMIT (50 * STOP_PROMISE)
#else
#define STOP_LIMIT (10 * STOP_PROMISE)
#endif

/* Seconds that this thread has worked: other processes do not count. In wasm there is no such
 * clock, so that time is measured there and not judged. */
static inline double stop_clock(void) {
  struct timespec t;
#ifdef __wasm__
  clock_gettime(CLOCK_MONOTONIC, &t);
#else
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
#endif
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A host that wants to stop at its look number `at`, and from then on. `worst` is the longest time
 * between two looks, or from the last one to the end: so long the run would have gone on, had the
 * wish come in between. */
typedef struct stop_watch {
  int looks, at;
  double last, worst;
} stop_watch;

static inline void stop_see(stop_watch *w) {
  const double now = stop_clock();
  if (now - w->last > w->worst) w->worst = now - w->last;
  w->last = now;
}
static inline stop_watch stop_begin(int at) {
  return (stop_watch){.at = at, .last = stop_clock()};
}
/* rush_poll_fn */
static inline bool stop_ask(void *watch) {
  stop_watch *w = watch;
  stop_see(w);
  return ++w->looks >= w->at;
}

#endif
