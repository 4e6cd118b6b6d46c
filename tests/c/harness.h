/* Shared by the C tests: an allocator that counts, checks and fails on demand; models from
 * builders; and values as text, so that a test compares a whole result as one string. */
#ifndef RUSH_TESTS_HARNESS_H
#define RUSH_TESTS_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above. */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"

/* An allocator that knows each block's size. A wrong size fails the test. */
typedef struct counter {
  size_t live, blocks; /* allocated bytes and blocks */
  size_t calls;        /* number of allocations */
  size_t fail_at;      /* allocation (from 1) from which on all fail; 0: none */
  bool fail_once;      /* only that allocation fails */
  bool plain;          /* does not fill new memory, which is slow for large blocks */
} counter;
void *counter_alloc(void *user, void *ptr, size_t old_size, size_t new_size);

/* A context, a model and a session on the counting allocator. */
typedef struct rig {
  counter counter;
  rush_ctx *ctx;
  rush_model *model;
  rush_session *session;
  char text[4096]; /* the last text of show() or run() */
} rig;
void rig_open(rig *r);
/* Loads the builder's file and frees the builder. The test fails if loading fails. */
void rig_load(rig *r, builder *b);
/* Loads as rig_load does, and makes a session. */
void rig_start(rig *r, builder *b);
/* Frees everything and checks that no memory leaks. */
void rig_close(rig *r);

/* Loads the builder's file, frees the builder and returns the status. */
rush_status rig_try_load(rig *r, builder *b);

/* Returns a value as text: None, 3, 2.5, true, 'text', [..], (..), {key: value}, or
 * float32[2, 2](1 2 3 4). */
const char *show(rig *r, const rush_value *v);
/* Runs method `method`. Returns the result as text, or "status: message" if it fails. */
const char *run(rig *r, size_t method, size_t n, const rush_value *args);
#define ARGS(...)                                                            \
  sizeof((rush_value[]){__VA_ARGS__}) / sizeof(rush_value), (rush_value[]) { \
    __VA_ARGS__                                                              \
  }
#define NO_ARGS 0, NULL

/* Makes a row-major tensor, which the caller releases. */
rush_value rig_tensor(rig *r, rush_dtype dtype, int rank, const int64_t *sizes, const void *data);
rush_value rig_floats(rig *r, int64_t n, const float *data);

/* Checks for a row of a table that `said` contains `part`, and prints both otherwise. */
void assert_contains(const char *row, const char *said, const char *part);

#define OK(expr)                                                                    \
  do {                                                                              \
    rush_status ok_ = (expr);                                                       \
    if (ok_ != RUSH_OK)                                                             \
      fail_msg("%s: %s: %s", #expr, rush_status_name(ok_), rush_ctx_error(r->ctx)); \
  } while (0)

#endif
