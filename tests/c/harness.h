/* What the C tests share: an allocator that counts, checks and fails on demand; models from
 * builders; values as text, so that a whole result is one string to compare. */
#ifndef RUSH_TESTS_HARNESS_H
#define RUSH_TESTS_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants those first. */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"

/* An allocator that knows each block's size and stops the test where it is told another one. */
typedef struct counter {
  size_t live, blocks; /* bytes and blocks that are out */
  size_t calls;        /* that asked for memory */
  size_t fail_at;      /* this one of them (counted from 1) and all later ones fail; 0: none */
  bool fail_once;      /* this one only */
  bool plain;          /* what is new is left as it is: writing much takes long */
} counter;
void *counter_alloc(void *user, void *ptr, size_t old_size, size_t new_size);

/* A context, a model, a session, all counted. */
typedef struct rig {
  counter counter;
  rush_ctx *ctx;
  rush_model *model;
  rush_session *session;
  char text[4096]; /* the last answer */
} rig;
void rig_open(rig *r);
/* Loads what the builder holds and frees the builder; the test fails where that fails. */
void rig_load(rig *r, builder *b);
/* The same, and a session. */
void rig_start(rig *r, builder *b);
/* Frees everything and checks that nothing is left. */
void rig_close(rig *r);

/* Loads and gives the status; the builder is freed. */
rush_status rig_try_load(rig *r, builder *b);

/* A value in words: None, 3, 2.5, true, 'text', [..], (..), {key: value}, float32[2, 2](1 2 3
 * 4). */
const char *show(rig *r, const rush_value *v);
/* Runs method `method` and shows the result, or "status: message" where it fails. */
const char *run(rig *r, size_t method, size_t n, const rush_value *args);
#define ARGS(...)                                                            \
  sizeof((rush_value[]){__VA_ARGS__}) / sizeof(rush_value), (rush_value[]) { \
    __VA_ARGS__                                                              \
  }
#define NO_ARGS 0, NULL

/* A row-major tensor; the caller releases it. */
rush_value rig_tensor(rig *r, rush_dtype dtype, int rank, const int64_t *sizes, const void *data);
rush_value rig_floats(rig *r, int64_t n, const float *data);

/* For tables: checks that `text` contains `part`, and says both where not. */
void assert_contains(const char *row, const char *said, const char *part);

#define OK(expr)                                                                    \
  do {                                                                              \
    rush_status ok_ = (expr);                                                       \
    if (ok_ != RUSH_OK)                                                             \
      fail_msg("%s: %s: %s", #expr, rush_status_name(ok_), rush_ctx_error(r->ctx)); \
  } while (0)

#endif
