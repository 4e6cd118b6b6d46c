/* Tests tensor: strides, views, copies, iteration, promotion and conversion, with PyTorch's
 * answers. */
#include "harness.h"

#include <math.h>

#include "tensor/iter.h"
#include "tensor/turned.h"

/* A separate heap without a session. */
typedef struct bench {
  rig rig;
  rush_ctx *ctx;
  rush_heap heap;
} bench;

static void bench_open(bench *b) {
  rig_open(&b->rig);
  b->ctx = b->rig.ctx;
  b->heap = (rush_heap){.ctx = b->ctx};
}

static void bench_close(bench *b) {
  rush_heap_trim(&b->heap);
  rig_close(&b->rig);
}

static rush_tensor *fresh(bench *r, rush_dtype dtype, int rank, const int64_t *sizes) {
  rush_tensor *t;
  OK(rush_tensor_new(&r->heap, dtype, rank, sizes, &t));
  return t;
}

/* Makes a tensor with 0, 1, 2, ... in row-major order. */
static rush_tensor *counted(bench *r, rush_dtype dtype, int rank, const int64_t *sizes) {
  rush_tensor *t = fresh(r, dtype, rank, sizes);
  for (int64_t i = 0; i < t->numel; i++)
    rush_store_int(dtype, (char *)rush_data(t) + (size_t)i * rush_itemsize(t), i);
  return t;
}

static rush_tensor *viewed(bench *r, const rush_tensor *base, int rank, const int64_t *sizes,
                           const int64_t *strides, int64_t offset) {
  rush_tensor *t;
  OK(rush_tensor_new_view(&r->heap, base, rank, sizes, strides, offset, &t));
  return t;
}

static double at(const rush_tensor *t, int64_t i) {
  int64_t where = 0;
  for (int d = t->rank - 1; d >= 0; d--) {
    where += i % t->sizes[d] * t->strides[d];
    i /= t->sizes[d];
  }
  return rush_load_double((rush_dtype)t->dtype,
                          (char *)rush_data(t) + where * (int64_t)rush_itemsize(t));
}

static void assert_elements(const char *name, const rush_tensor *t, const double *want) {
  for (int64_t i = 0; i < t->numel; i++) {
    if (at(t, i) != want[i])
      fail_msg("%s: element %d is %g, not %g", name, (int)i, at(t, i), want[i]);
  }
}

/* ---- Strides --------------------------------------------------------------------------------- */

static const struct {
  int rank;
  int64_t sizes[5], strides[5], like[5]; /* like: torch.empty_like(x).stride() */
  bool contiguous, dense, channels_last; /* channels_last: torch defines it for rank 4 and 5 */
} layouts[] = {
    {0, {0}, {0}, {0}, true, true, false},
    {1, {5}, {1}, {1}, true, true, false},
    {1, {5}, {2}, {1}, false, false, false},
    {1, {0}, {1}, {1}, true, true, false},
    {2, {2, 3}, {3, 1}, {3, 1}, true, true, false},
    {2, {2, 3}, {1, 2}, {1, 2}, false, true, false},
    {2, {2, 3}, {6, 2}, {3, 1}, false, false, false},
    {2, {2, 3}, {1, 4}, {1, 2}, false, false, false},
    {2, {4, 3}, {0, 1}, {3, 1}, false, false, false},
    {2, {4, 3}, {1, 0}, {3, 1}, false, false, false},
    {4, {2, 3, 4, 5}, {60, 1, 15, 3}, {60, 1, 15, 3}, false, true, true},
    {4, {2, 3, 4, 5}, {120, 1, 30, 6}, {60, 1, 15, 3}, false, false, false},
    {4, {2, 3, 4, 5}, {0, 1, 15, 3}, {60, 1, 15, 3}, false, false, false},
    {3, {2, 1, 4}, {4, 4, 1}, {4, 4, 1}, true, true, false},
    {3, {2, 1, 4}, {4, 99, 1}, {4, 99, 1}, true, true, false},
    {4, {3, 1, 1, 2}, {2, 7, 9, 1}, {2, 7, 9, 1}, true, true, true},
    {3, {2, 3, 4}, {4, 8, 1}, {4, 8, 1}, false, true, false},
    {3, {2, 3, 4}, {4, 8, 2}, {4, 8, 1}, false, false, false},
    {3, {2, 3, 4}, {1, 2, 6}, {1, 2, 6}, false, true, false},
    {3, {2, 3, 4}, {2, 4, 12}, {1, 2, 6}, false, false, false},
    {2, {1, 1}, {1, 1}, {1, 1}, true, true, false},
    {4, {1, 3, 1, 1}, {3, 1, 3, 3}, {3, 1, 3, 3}, true, true, true},
    {4, {1, 8, 1, 1}, {8, 1, 1, 1}, {8, 1, 1, 1}, true, true, true},
    {3, {3, 0, 2}, {2, 2, 1}, {2, 2, 1}, true, true, false},
    {2, {2, 2}, {1, 1}, {2, 1}, false, false, false},
    {3, {2, 3, 4}, {0, 0, 0}, {12, 4, 1}, false, false, false},
    {3, {2, 3, 4}, {0, 0, 1}, {12, 4, 1}, false, false, false},
    {3, {3, 4, 5}, {1, 30, 3}, {1, 15, 3}, false, false, false},
    {3, {3, 4, 5}, {40, 2, 8}, {20, 1, 4}, false, false, false},
    {3, {4, 1, 6}, {1, 1, 4}, {1, 1, 4}, false, true, false},
    {5, {2, 3, 4, 5, 6}, {360, 1, 90, 18, 3}, {360, 1, 90, 18, 3}, false, true, true},
    {3, {2, 3, 4}, {24, 1, 3}, {12, 1, 3}, false, false, false},
    {3, {2, 2, 2}, {8, 2, 2}, {4, 2, 1}, false, false, false},
    {3, {2, 2, 2}, {2, 2, 1}, {4, 2, 1}, false, false, false},
    {3, {3, 2, 2}, {8, 1, 4}, {4, 1, 2}, false, false, false},
};

static void strides_are_told_as_torch_tells_them(void **state) {
  (void)state;
  bench bench_, *r = &bench_;
  bench_open(r);
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    char name[64];
    snprintf(name, sizeof name, "layout %zu", i);
    rush_tensor *base = fresh(r, RUSH_FLOAT32, 1, SIZES(1000)), *like;
    rush_tensor *x = viewed(r, base, layouts[i].rank, layouts[i].sizes, layouts[i].strides, 3);
    if (rush_is_contiguous(x) != layouts[i].contiguous) fail_msg("%s: contiguous", name);
    if (rush_is_dense(x) != layouts[i].dense) fail_msg("%s: dense", name);
    if (x->rank >= 4 && rush_is_channels_last(x) != layouts[i].channels_last)
      fail_msg("%s: channels last", name);
    OK(rush_tensor_new_like(&r->heap, x, RUSH_INT64, &like));
    assert_true(rush_same_sizes(x, like));
    for (int d = 0; d < x->rank; d++) {
      if (like->strides[d] != layouts[i].like[d])
        fail_msg("%s: stride %d is %lld, not %lld", name, d, (long long)like->strides[d],
                 (long long)layouts[i].like[d]);
    }
    if (like->numel) memset(rush_data(like), 0, (size_t)like->numel * 8);
    rush_tensor_drop(&r->heap, like);
    rush_tensor_drop(&r->heap, x);
    rush_tensor_drop(&r->heap, base);
  }
  bench_close(r);
}

static void channels_last_is_made_for_rank_3_to_5(void **state) {
  (void)state;
  static const int64_t sizes[] = {2, 3, 4, 5, 6},
                       want[3][5] = {{12, 1, 3}, {60, 1, 15, 3}, {360, 1, 90, 18, 3}};
  bench bench_, *r = &bench_;
  bench_open(r);
  for (int rank = 3; rank <= 5; rank++) {
    rush_tensor *t;
    OK(rush_tensor_new_channels_last(&r->heap, RUSH_FLOAT32, rank, sizes, &t));
    assert_memory_equal(t->strides, want[rank - 3], (size_t)rank * sizeof *sizes);
    assert_true(rush_is_channels_last(t) && rush_is_dense(t) && !rush_is_contiguous(t));
    rush_tensor_drop(&r->heap, t);
  }
  bench_close(r);
}

/* ---- Making ---------------------------------------------------------------------------------- */

static void a_shape_that_cannot_be_is_refused(void **state) {
  (void)state;
  bench bench_, *r = &bench_;
  rush_tensor *t;
  bench_open(r);
  assert_int_equal(rush_tensor_new(&r->heap, RUSH_FLOAT32, 2, SIZES(2, -1), &t),
                   RUSH_ERR_BAD_ARGUMENT);
  assert_contains("negative", rush_ctx_error(r->ctx), "negative dimension -1: [2, -1]");
  assert_int_equal(rush_tensor_new(&r->heap, RUSH_FLOAT32, 9, SIZES(1, 1, 1, 1, 1, 1, 1, 1, 1), &t),
                   RUSH_ERR_UNSUPPORTED);
  assert_contains("rank", rush_ctx_error(r->ctx), "at most 8 dimensions, got 9");
  static const int64_t too_many[][2] = {{INT64_MAX, 2},
                                        {INT64_MAX / 4, 1},
                                        {(int64_t)1 << 32, (int64_t)1 << 31},
                                        {(int64_t)1 << 40, 1}};
  for (size_t i = 0; i < 4; i++) {
    size_t live = r->rig.counter.live;
    /* Case 3 allocates a terabyte, which some machines would provide. */
    r->rig.counter.fail_at = i == 3 ? r->rig.counter.calls + 2 : 0;
    assert_int_equal(rush_tensor_new(&r->heap, RUSH_FLOAT64, 2, too_many[i], &t),
                     RUSH_ERR_NO_MEMORY);
    assert_null(t);
    assert_contains("too many", rush_ctx_error(r->ctx), "out of memory");
    rush_heap_trim(&r->heap);
    assert_int_equal(r->rig.counter.live, live);
  }
  r->rig.counter.fail_at = 0;
  OK(rush_tensor_new(&r->heap, RUSH_FLOAT32, 3, SIZES(1 << 20, 0, 5), &t)); /* empty: no bytes */
  assert_int_equal(t->numel, 0);
  rush_tensor *huge; /* sums of such sizes would overflow */
  assert_int_equal(rush_tensor_new(&r->heap, RUSH_FLOAT32, 2, SIZES((int64_t)1 << 62, 0), &huge),
                   RUSH_ERR_NO_MEMORY);
  rush_tensor_drop(&r->heap, t);
  bench_close(r);
}

static void a_view_stays_inside_its_storage(void **state) {
  (void)state;
  static const struct {
    int64_t sizes[2], strides[2], offset;
    bool ok;
  } rows[] = {{{3, 4}, {4, 1}, 0, true},          {{3, 4}, {4, 1}, 1, false},
              {{4, 3}, {1, 4}, 0, true},          {{2, 4}, {4, 1}, 4, true},
              {{2, 4}, {4, 1}, 5, false},         {{100, 100}, {0, 0}, 11, true},
              {{1, 1}, {0, 0}, 12, false},        {{1, 1}, {0, 0}, -1, false},
              {{0, 5}, {1, 1}, 0, true},          {{2, 2}, {-1, 1}, 5, false},
              {{2, 1}, {INT64_MAX, 1}, 0, false}, {{INT64_MAX, 1}, {INT64_MAX, 1}, 0, false},
              {{1, 1}, {1, 1}, INT64_MAX, false}};
  bench bench_, *r = &bench_;
  bench_open(r);
  rush_tensor *base = counted(r, RUSH_FLOAT32, 1, SIZES(12));
  base->storage->bytes = 48; /* exact, regardless of the block's size */
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    rush_tensor *t;
    rush_status st =
        rush_tensor_new_view(&r->heap, base, 2, rows[i].sizes, rows[i].strides, rows[i].offset, &t);
    if ((st == RUSH_OK) != rows[i].ok) fail_msg("view %zu: %s", i, rush_status_name(st));
    if (!rows[i].ok)
      assert_contains("view", rush_ctx_error(r->ctx),
                      rows[i].sizes[0] == INT64_MAX ? "is too large for this machine"
                                                    : "reaches outside its storage of 48 bytes");
    rush_tensor_drop(&r->heap, t);
  }
  /* A view repeats one element too often to iterate over it, so it is refused. */
  rush_tensor *many;
  assert_int_equal(
      rush_tensor_new_view(&r->heap, base, 2, SIZES((int64_t)1 << 31, (int64_t)1 << 31),
                           SIZES(0, 0), 0, &many),
      RUSH_ERR_NO_MEMORY);
  rush_tensor_drop(&r->heap, base);
  bench_close(r);
}

static void a_view_keeps_its_storage_and_writes_through(void **state) {
  (void)state;
  bench bench_, *r = &bench_;
  bench_open(r);
  rush_tensor *base = counted(r, RUSH_INT32, 2, SIZES(3, 4));
  rush_tensor *column = viewed(r, base, 1, SIZES(3), SIZES(4), 2);
  rush_tensor *value = counted(r, RUSH_FLOAT64, 1, SIZES(1));
  OK(rush_tensor_copy(&r->heap, column, value)); /* broadcast and converted */
  assert_elements("through the view", base, (double[]){0, 1, 0, 3, 4, 5, 0, 7, 8, 9, 0, 11});
  rush_tensor_drop(&r->heap, base);
  assert_elements("after its base", column, (double[]){0, 0, 0});
  rush_tensor_drop(&r->heap, value);
  rush_tensor_drop(&r->heap, column);
  bench_close(r);
}

/* ---- Copies ---------------------------------------------------------------------------------- */

static void overlapping_copies_read_before_they_write(void **state) {
  (void)state;
  bench bench_, *r = &bench_;
  bench_open(r);
  rush_tensor *t = counted(r, RUSH_INT64, 1, SIZES(6));
  rush_tensor *left = viewed(r, t, 1, SIZES(5), SIZES(1), 0),
              *right = viewed(r, t, 1, SIZES(5), SIZES(1), 1);
  OK(rush_tensor_copy(&r->heap, right, left));
  assert_elements("to the right", t, (double[]){0, 0, 1, 2, 3, 4});
  OK(rush_tensor_copy(&r->heap, left, right));
  assert_elements("to the left", t, (double[]){0, 1, 2, 3, 4, 4});
  OK(rush_tensor_copy(&r->heap, left, left));
  assert_elements("itself", t, (double[]){0, 1, 2, 3, 4, 4});
  rush_tensor_drop(&r->heap, left);
  rush_tensor_drop(&r->heap, right);
  rush_tensor_drop(&r->heap, t);

  t = counted(r, RUSH_FLOAT32, 2, SIZES(3, 3));
  rush_tensor *turned = viewed(r, t, 2, SIZES(3, 3), SIZES(1, 3), 0);
  OK(rush_tensor_copy(&r->heap, t, turned));
  assert_elements("transposed onto itself", t, (double[]){0, 3, 6, 1, 4, 7, 2, 5, 8});
  rush_tensor *row = viewed(r, t, 1, SIZES(3), SIZES(1), 3);
  OK(rush_tensor_copy(&r->heap, t, row)); /* one of its rows, broadcast over the tensor */
  assert_elements("its own row", t, (double[]){1, 4, 7, 1, 4, 7, 1, 4, 7});
  rush_tensor_drop(&r->heap, row);
  rush_tensor_drop(&r->heap, turned);
  rush_tensor_drop(&r->heap, t);
  bench_close(r);
}

/* Compares every pair of layouts with an element-wise reference. */
static void copies_agree_with_their_definition_for_all_strides(void **state) {
  (void)state;
  bench bench_, *r = &bench_;
  bench_open(r);
  size_t n = sizeof layouts / sizeof *layouts;
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) {
      if (layouts[i].rank != layouts[j].rank ||
          memcmp(layouts[i].sizes, layouts[j].sizes, sizeof layouts[i].sizes))
        continue;
      if (!layouts[j].dense) continue; /* the destination must not overlap itself */
      rush_tensor *a = counted(r, RUSH_INT32, 1, SIZES(1000)),
                  *b = fresh(r, RUSH_FLOAT32, 1, SIZES(1000));
      rush_tensor *from = viewed(r, a, layouts[i].rank, layouts[i].sizes, layouts[i].strides, 7);
      rush_tensor *to = viewed(r, b, layouts[j].rank, layouts[j].sizes, layouts[j].strides, 11);
      OK(rush_tensor_copy(&r->heap, to, from));
      for (int64_t k = 0; k < to->numel; k++) {
        if (at(to, k) != at(from, k)) fail_msg("layout %zu to %zu: element %d", i, j, (int)k);
      }
      rush_tensor *plain;
      OK(rush_tensor_contiguous(&r->heap, from, &plain));
      assert_true(rush_is_contiguous(plain));
      assert_int_equal(plain == from, rush_is_contiguous(from));
      for (int64_t k = 0; k < from->numel; k++) assert_true(at(plain, k) == at(from, k));
      rush_tensor_drop(&r->heap, plain);
      rush_tensor_drop(&r->heap, from);
      rush_tensor_drop(&r->heap, to);
      rush_tensor_drop(&r->heap, a);
      rush_tensor_drop(&r->heap, b);
    }
  }
  bench_close(r);
}

static void overlap_is_judged_by_bytes_of_one_storage(void **state) {
  (void)state;
  bench bench_, *r = &bench_;
  bench_open(r);
  rush_tensor *t = counted(r, RUSH_FLOAT32, 1, SIZES(12)),
              *other = counted(r, RUSH_FLOAT32, 1, SIZES(12));
  rush_tensor *head = viewed(r, t, 1, SIZES(6), SIZES(1), 0),
              *tail = viewed(r, t, 1, SIZES(6), SIZES(1), 6);
  rush_tensor *middle = viewed(r, t, 1, SIZES(2), SIZES(1), 5),
              *none = viewed(r, t, 1, SIZES(0), SIZES(1), 0);
  assert_false(rush_may_overlap(head, tail));
  assert_true(rush_may_overlap(head, middle));
  assert_true(rush_may_overlap(middle, tail));
  assert_true(rush_may_overlap(t, t));
  assert_false(rush_may_overlap(t, other));
  assert_false(rush_may_overlap(t, none));
  rush_tensor *all[] = {t, other, head, tail, middle, none};
  for (int k = 0; k < 6; k++) rush_tensor_drop(&r->heap, all[k]);
  bench_close(r);
}

/* ---- Broadcasting and iteration -------------------------------------------------------------- */

static void sizes_broadcast_as_in_torch(void **state) {
  (void)state;
  static const struct {
    int ra;
    int64_t a[3];
    int rb;
    int64_t b[3];
    int rank;
    int64_t out[3];
  } rows[] = {{0, {0}, 0, {0}, 0, {0}},       {1, {5}, 0, {0}, 1, {5}},
              {2, {3, 1}, 1, {4}, 2, {3, 4}}, {2, {0, 3}, 2, {1, 1}, 2, {0, 3}},
              {1, {1}, 1, {0}, 1, {0}},       {3, {2, 1, 3}, 2, {4, 1}, 3, {2, 4, 3}},
              {1, {2}, 1, {3}, -1, {0}},      {2, {2, 3}, 2, {3, 2}, -1, {0}},
              {1, {0}, 1, {2}, -1, {0}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int rank;
    int64_t out[RUSH_MAX_RANK];
    bool ok = rush_broadcast(rows[i].ra, rows[i].a, rows[i].rb, rows[i].b, &rank, out);
    if (ok != (rows[i].rank >= 0)) fail_msg("broadcast %zu", i);
    if (!ok) continue;
    assert_int_equal(rank, rows[i].rank);
    assert_memory_equal(out, rows[i].out, (size_t)rank * sizeof *out);
  }
}

static void iteration_visits_each_element_once_in_long_rows(void **state) {
  (void)state;
  static const struct {
    int rank;
    int64_t sizes[4];
    int order;
    int64_t rows;
  } cases[] = {{0, {0}, 0, 1},          {1, {7}, 0, 1},
               {2, {3, 4}, 0, 1},       {2, {3, 4}, 1, 1}, /* both transposed */
               {4, {2, 3, 4, 5}, 0, 1}, {4, {2, 3, 4, 5}, 1, 1},
               {3, {1, 1, 1}, 0, 1},    {3, {2, 0, 3}, 0, 0}};
  bench bench_, *r = &bench_;
  bench_open(r);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rush_tensor *a = fresh(r, RUSH_INT64, cases[i].rank, cases[i].sizes), *b;
    if (cases[i].order) { /* reversed strides */
      int64_t step = 1;
      for (int d = 0; d < a->rank; d++) a->strides[d] = step, step *= a->sizes[d];
    }
    if (a->numel) memset(rush_data(a), 0, (size_t)a->numel * 8);
    OK(rush_tensor_new_like(&r->heap, a, RUSH_UINT8, &b));
    const rush_tensor *both[] = {a, b};
    rush_iter it;
    int64_t rows = 0;
    rush_iter_init(&it, a->rank, a->sizes, 2, both);
    do {
      for (int64_t k = 0; k < it.size[0]; k++)
        (*(int64_t *)(void *)(it.at[0] + k * it.stride[0][0]))++;
      rows += it.size[0] > 0;
    } while (rush_iter_next(&it));
    assert_int_equal(rows, cases[i].rows);
    for (int64_t k = 0; k < a->numel; k++) assert_true(at(a, k) == 1);
    rush_tensor_drop(&r->heap, a);
    rush_tensor_drop(&r->heap, b);
  }
  bench_close(r);
}

static void broadcast_operands_repeat(void **state) {
  (void)state;
  bench bench_, *r = &bench_;
  bench_open(r);
  rush_tensor *out = fresh(r, RUSH_INT64, 3, SIZES(2, 3, 4)),
              *x = counted(r, RUSH_INT64, 2, SIZES(3, 1));
  rush_tensor *y = counted(r, RUSH_INT64, 1, SIZES(4)),
              *z = counted(r, RUSH_INT64, 3, SIZES(2, 1, 1));
  const rush_tensor *all[] = {out, x, y, z};
  rush_iter it;
  rush_iter_init(&it, 3, out->sizes, 4, all);
  do {
    for (int64_t k = 0; k < it.size[0]; k++) {
      int64_t v[4];
      for (int o = 1; o < 4; o++) memcpy(v + o, it.at[o] + k * it.stride[o][0], 8);
      v[0] = 100 * v[3] + 10 * v[1] + v[2];
      memcpy(it.at[0] + k * it.stride[0][0], v, 8);
    }
  } while (rush_iter_next(&it));
  for (int64_t k = 0; k < 24; k++)
    assert_true(at(out, k) == (double)(k / 12 * 100 + k / 4 % 3 * 10 + k % 4));
  for (int k = 0; k < 4; k++) rush_tensor_drop(&r->heap, (rush_tensor *)(uintptr_t)all[k]);
  bench_close(r);
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

static const rush_dtype dtypes[] = {RUSH_UINT8,   RUSH_INT32,   RUSH_INT64,
                                    RUSH_FLOAT32, RUSH_FLOAT64, RUSH_BOOL};

static void dtypes_promote_and_cast_as_in_torch(void **state) {
  (void)state;
  static const rush_dtype promoted[6][6] = {
      {RUSH_UINT8, RUSH_INT32, RUSH_INT64, RUSH_FLOAT32, RUSH_FLOAT64, RUSH_UINT8},
      {RUSH_INT32, RUSH_INT32, RUSH_INT64, RUSH_FLOAT32, RUSH_FLOAT64, RUSH_INT32},
      {RUSH_INT64, RUSH_INT64, RUSH_INT64, RUSH_FLOAT32, RUSH_FLOAT64, RUSH_INT64},
      {RUSH_FLOAT32, RUSH_FLOAT32, RUSH_FLOAT32, RUSH_FLOAT32, RUSH_FLOAT64, RUSH_FLOAT32},
      {RUSH_FLOAT64, RUSH_FLOAT64, RUSH_FLOAT64, RUSH_FLOAT64, RUSH_FLOAT64, RUSH_FLOAT64},
      {RUSH_UINT8, RUSH_INT32, RUSH_INT64, RUSH_FLOAT32, RUSH_FLOAT64, RUSH_BOOL}};
  static const bool casts[6][6] = {{1, 1, 1, 1, 1, 0}, {1, 1, 1, 1, 1, 0}, {1, 1, 1, 1, 1, 0},
                                   {0, 0, 0, 1, 1, 0}, {0, 0, 0, 1, 1, 0}, {1, 1, 1, 1, 1, 1}};
  for (int a = 0; a < 6; a++) {
    for (int b = 0; b < 6; b++) {
      if (rush_promote(dtypes[a], dtypes[b]) != promoted[a][b])
        fail_msg("%s with %s", rush_dtype_name(dtypes[a]), rush_dtype_name(dtypes[b]));
      if (rush_can_cast(dtypes[a], dtypes[b]) != casts[a][b])
        fail_msg("%s into %s", rush_dtype_name(dtypes[a]), rush_dtype_name(dtypes[b]));
    }
  }
}

/* Each dtype has a letter. The table is that of torch.promote_types. */
static void rare_dtypes_promote_as_in_torch(void **state) {
  (void)state;
  static const char letters[] = "BbsilefdzZ?h";
  static const rush_dtype all[] = {RUSH_UINT8,     RUSH_INT8,       RUSH_INT16,   RUSH_INT32,
                                   RUSH_INT64,     RUSH_FLOAT16,    RUSH_FLOAT32, RUSH_FLOAT64,
                                   RUSH_COMPLEX64, RUSH_COMPLEX128, RUSH_BOOL,    RUSH_BFLOAT16};
  static const char *const promoted[] = {"BssilefdzZBh", "sbsilefdzZbh", "sssilefdzZsh",
                                         "iiiilefdzZih", "lllllefdzZlh", "eeeeeefdzZef",
                                         "fffffffdzZff", "ddddddddZZdd", "zzzzzzzZzZzz",
                                         "ZZZZZZZZZZZZ", "BbsilefdzZ?h", "hhhhhffdzZhh"};
  for (size_t a = 0; a < sizeof all / sizeof *all; a++) {
    for (size_t b = 0; b < sizeof all / sizeof *all; b++) {
      const char *letter = strchr(letters, promoted[a][b]);
      if (rush_promote(all[a], all[b]) != all[letter - letters])
        fail_msg("%s with %s", rush_dtype_name(all[a]), rush_dtype_name(all[b]));
    }
  }
}

static void halves_are_rounded_to_even(void **state) {
  (void)state;
  static const struct {
    double value;
    uint16_t f16, bf16;
  } rows[] = {{1, 0x3c00, 0x3f80},
              {-2, 0xc000, 0xc000},
              {1 + 0x1p-11, 0x3c00, 0x3f80}, /* a tie, rounded down to even */
              {1 + 3 * 0x1p-11, 0x3c02, 0x3f80},
              {1 + 3 * 0x1p-8, 0x3c0c, 0x3f82},
              {65519.996, 0x7bff, 0x4780},
              {65520, 0x7c00, 0x4780},
              {0x1p-24, 0x0001, 0x3380},
              {0x1p-25, 0x0000, 0x3300},
              {3 * 0x1p-25, 0x0002, 0x33c0},
              {0x1p-14 - 0x1p-26, 0x0400, 0x3880},
              {-0.0, 0x8000, 0x8000},
              {-INFINITY, 0xfc00, 0xff80},
              {3.4e38, 0x7c00, 0x7f80}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    uint16_t f16, bf16;
    rush_store_double(RUSH_FLOAT16, &f16, rows[k].value);
    rush_store_double(RUSH_BFLOAT16, &bf16, rows[k].value);
    if (f16 != rows[k].f16 || bf16 != rows[k].bf16)
      fail_msg("%g: %04x, %04x", rows[k].value, f16, bf16);
  }
  for (uint32_t bits = 0; bits < 0x10000; bits++) { /* exact values stay the same */
    const uint16_t h = (uint16_t)bits;
    for (int k = 0; k < 2; k++) {
      const rush_dtype dtype = k ? RUSH_FLOAT16 : RUSH_BFLOAT16;
      const double v = rush_load_double(dtype, &h);
      uint16_t again;
      rush_store_double(dtype, &again, v);
      if (!isnan(v) && again != h) fail_msg("%s %04x", rush_dtype_name(dtype), h);
    }
  }
}

static void complex_numbers_convert_part_by_part(void **state) {
  (void)state;
  const float z[][2] = {{1.5f, -2}, {0, 3}, {0, 0}};
  double wide[3][2];
  float real[3], back[3][2];
  uint8_t truth[3];
  int8_t whole[3];
  rush_convert(RUSH_COMPLEX128, wide, RUSH_COMPLEX64, z, 3);
  rush_convert(RUSH_FLOAT32, real, RUSH_COMPLEX64, z, 3);
  rush_convert(RUSH_BOOL, truth, RUSH_COMPLEX64, z, 3);
  rush_convert(RUSH_INT8, whole, RUSH_COMPLEX64, z, 3);
  rush_convert(RUSH_COMPLEX64, back, RUSH_INT8, whole, 3);
  for (int k = 0; k < 3; k++) {
    assert_true(wide[k][0] == (double)z[k][0] && wide[k][1] == (double)z[k][1]);
    assert_true(real[k] == z[k][0] && whole[k] == (int8_t)z[k][0]);
    assert_int_equal(truth[k], k < 2);
    assert_true(back[k][0] == (float)whole[k] && back[k][1] == 0);
  }
}

static void reserved_dtypes_have_names_and_no_size(void **state) {
  (void)state;
  assert_false(rush_dtype_known(RUSH_QINT8));
  assert_string_equal(rush_dtype_name(RUSH_QINT8), "qint8");
  assert_string_equal(rush_dtype_name(RUSH_BFLOAT16), "bfloat16");
  assert_string_equal(rush_dtype_name(RUSH_INT64), "int64");
  static const int none[] = {-1, 8, 16, 42, 255};
  for (int k = 0; k < 5; k++) {
    assert_false(rush_dtype_known(none[k]));
    assert_string_equal(rush_dtype_name((rush_dtype)none[k]), "?");
  }
}

static const double values[] = {0.0,  -0.0,  0.9, -0.9,         1.5,          -1.5,          255,
                                256,  300.7, -1,  2147483647.0, 2147483648.0, -2147483649.0, 3e9,
                                1e19, -1e19, NAN, INFINITY,     -INFINITY};
enum { N_VALUES = sizeof values / sizeof *values };

/* The expected numbers are those of torch.tensor(values, dtype=float64).to(dtype) on x86. */
static void conversion_from_floats_is_torchs(void **state) {
  (void)state;
  static const int64_t u8[] = {0, 0, 0, 0, 1, 255, 255, 0, 44, 255, 255, 0, 255, 0, 0, 0, 0, 0, 0};
  static const int64_t i32[] = {0,          0,         0,         0,         1,
                                -1,         255,       256,       300,       -1,
                                2147483647, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN,
                                INT32_MIN,  INT32_MIN, INT32_MIN, INT32_MIN};
  static const int64_t i64[] = {0,          0,          0,           0,          1,
                                -1,         255,        256,         300,        -1,
                                2147483647, 2147483648, -2147483649, 3000000000, INT64_MIN,
                                INT64_MIN,  INT64_MIN,  INT64_MIN,   INT64_MIN};
  uint8_t a[N_VALUES], b[N_VALUES];
  int32_t c[N_VALUES];
  int64_t d[N_VALUES];
  float f[N_VALUES];
  rush_convert(RUSH_UINT8, a, RUSH_FLOAT64, values, N_VALUES);
  rush_convert(RUSH_BOOL, b, RUSH_FLOAT64, values, N_VALUES);
  rush_convert(RUSH_INT32, c, RUSH_FLOAT64, values, N_VALUES);
  rush_convert(RUSH_INT64, d, RUSH_FLOAT64, values, N_VALUES);
  rush_convert(RUSH_FLOAT32, f, RUSH_FLOAT64, values, N_VALUES);
  for (int k = 0; k < N_VALUES; k++) {
    if (a[k] != u8[k] || c[k] != i32[k] || d[k] != i64[k] || b[k] != (values[k] != 0))
      fail_msg("%g", values[k]);
    assert_true(isnan(values[k]) ? isnan(f[k]) : f[k] == (float)values[k]);
    assert_int_equal(signbit(f[k]) != 0,
                     isnan(values[k]) ? signbit(f[k]) != 0 : signbit(values[k]) != 0);
  }
  /* Converts the same values one by one. */
  for (int k = 0; k < N_VALUES; k++) {
    int64_t one;
    rush_store_double(RUSH_INT64, &one, values[k]);
    assert_int_equal(one, i64[k]);
    assert_int_equal(rush_load_int(RUSH_FLOAT64, values + k), i64[k]);
  }
}

static void conversion_between_integers_wraps(void **state) {
  (void)state;
  static const int64_t in[] = {
      0, 1, -1, 255, 256, -129, INT32_MAX, (int64_t)INT32_MAX + 1, INT64_MAX, INT64_MIN};
  static const uint8_t u8[] = {0, 1, 255, 255, 0, 127, 255, 0, 255, 0};
  static const int32_t i32[] = {0, 1, -1, 255, 256, -129, INT32_MAX, INT32_MIN, -1, 0};
  uint8_t a[10], b[10];
  int32_t c[10];
  double d[10];
  rush_convert(RUSH_UINT8, a, RUSH_INT64, in, 10);
  rush_convert(RUSH_BOOL, b, RUSH_INT64, in, 10);
  rush_convert(RUSH_INT32, c, RUSH_INT64, in, 10);
  rush_convert(RUSH_FLOAT64, d, RUSH_INT64, in, 10);
  for (int k = 0; k < 10; k++)
    assert_true(a[k] == u8[k] && c[k] == i32[k] && b[k] == (in[k] != 0) && d[k] == (double)in[k]);
}

static void conversion_of_many_is_conversion_of_each(void **state) {
  (void)state;
  bench bench_, *r = &bench_;
  bench_open(r);
  for (int64_t n = 1; n < 600; n = n * 2 + 1) { /* longer than an internal block */
    for (int a = 0; a < 6; a++) {
      rush_tensor *x = counted(r, dtypes[a], 1, &n);
      for (int b = 0; b < 6; b++) {
        rush_tensor *y;
        OK(rush_tensor_to(&r->heap, x, dtypes[b], &y));
        assert_int_equal(y == x, a == b);
        for (int64_t k = 0; k < n; k++) {
          int64_t want = dtypes[a] == RUSH_BOOL || dtypes[b] == RUSH_BOOL
                             ? (dtypes[a] == RUSH_UINT8 ? k & 255 : k) != 0
                         : dtypes[a] == RUSH_UINT8 || dtypes[b] == RUSH_UINT8 ? k & 255
                                                                              : k;
          if (at(y, k) != (double)want)
            fail_msg("%s to %s: %d", rush_dtype_name(dtypes[a]), rush_dtype_name(dtypes[b]),
                     (int)k);
        }
        rush_tensor_drop(&r->heap, y);
      }
      rush_tensor_drop(&r->heap, x);
    }
  }
  bench_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strides_are_told_as_torch_tells_them),
      cmocka_unit_test(channels_last_is_made_for_rank_3_to_5),
      cmocka_unit_test(a_shape_that_cannot_be_is_refused),
      cmocka_unit_test(a_view_stays_inside_its_storage),
      cmocka_unit_test(a_view_keeps_its_storage_and_writes_through),
      cmocka_unit_test(overlapping_copies_read_before_they_write),
      cmocka_unit_test(copies_agree_with_their_definition_for_all_strides),
      cmocka_unit_test(overlap_is_judged_by_bytes_of_one_storage),
      cmocka_unit_test(sizes_broadcast_as_in_torch),
      cmocka_unit_test(iteration_visits_each_element_once_in_long_rows),
      cmocka_unit_test(broadcast_operands_repeat),
      cmocka_unit_test(dtypes_promote_and_cast_as_in_torch),
      cmocka_unit_test(rare_dtypes_promote_as_in_torch),
      cmocka_unit_test(halves_are_rounded_to_even),
      cmocka_unit_test(complex_numbers_convert_part_by_part),
      cmocka_unit_test(reserved_dtypes_have_names_and_no_size),
      cmocka_unit_test(conversion_from_floats_is_torchs),
      cmocka_unit_test(conversion_between_integers_wraps),
      cmocka_unit_test(conversion_of_many_is_conversion_of_each),
  };
  return cmocka_run_group_tests_name("tensor", tests, NULL, NULL);
}
