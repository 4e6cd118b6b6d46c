#include "blocks/recurrent_cell.h"

#include <math.h>

#include "blocks/batched_matmul.h"
#include "kernels/elementary.h"
#include "kernels/gemm.h"

int64_t rush_cell_gates(rush_cell_kind kind) {
  return kind == RUSH_CELL_LSTM ? 4 : kind == RUSH_CELL_GRU ? 3 : 1;
}

static rush_status check_weight(rush_ctx *ctx, const rush_tensor *t, const char *name,
                                rush_dtype dtype, int rank, int64_t rows, int64_t cols) {
  char expected[RUSH_SHAPE_TEXT], text[RUSH_SHAPE_TEXT];
  if (t == NULL) return RUSH_OK;
  RUSH_CHECK(ctx, t->dtype == dtype, RUSH_ERR_BAD_ARGUMENT, "%s must be %s, like the input, got %s",
             name, rush_dtype_name(dtype), rush_dtype_name(t->dtype));
  RUSH_CHECK(ctx, t->rank == rank && t->sizes[0] == rows && (rank == 1 || t->sizes[1] == cols),
             RUSH_ERR_BAD_ARGUMENT, "%s must have the shape %s, got %s", name,
             rush_shape_text(rank, (int64_t[]){rows, cols}, expected),
             rush_shape_text(t->rank, t->sizes, text));
  return RUSH_OK;
}

rush_status rush_cell_check(rush_ctx *ctx, const rush_cell *cell, rush_dtype dtype, int64_t in,
                            int64_t hidden, int64_t out) {
  const int64_t gates = rush_cell_gates(cell->kind) * hidden;
  RUSH_TRY(check_weight(ctx, cell->w_ih, "w_ih", dtype, 2, gates, in));
  RUSH_TRY(check_weight(ctx, cell->w_hh, "w_hh", dtype, 2, gates, out));
  RUSH_TRY(check_weight(ctx, cell->b_ih, "b_ih", dtype, 1, gates, in));
  RUSH_TRY(check_weight(ctx, cell->b_hh, "b_hh", dtype, 1, gates, out));
  return check_weight(ctx, cell->w_hr, "w_hr", dtype, 2, out, hidden);
}

/* Computes to[n][rows of w] = from[n][columns of w] * w^T + bias. */
static rush_status product(rush_heap *heap, int64_t n, const void *from, const rush_tensor *w,
                           const rush_tensor *bias, void *to) {
  const int64_t rows = w->sizes[0], k = w->sizes[1];
  const rush_dtype dtype = w->dtype;
  RUSH_TRY(rush_matmul_run(heap, dtype, n, rows, k, 0, NULL,
                           (rush_matrices){(char *)(uintptr_t)from, k, 1, {0}},
                           (rush_matrices){rush_data(w), w->strides[1], w->strides[0], {0}},
                           (rush_matrices){to, rows, 1, {0}}));
  if (bias == NULL) return RUSH_OK;
  const char *b = rush_data(bias);
  const int64_t step = bias->strides[0] * (int64_t)rush_itemsize(bias);
  for (int64_t i = 0; i < n; i++) {
    size_t some;
    for (int64_t at = 0; rush_next_piece(heap->ctx, (size_t)rows, 1, (size_t)at, &some);
         at += (int64_t)some)
      for (int64_t j = at; j < at + (int64_t)some; j++) {
        if (dtype == RUSH_FLOAT32)
          ((float *)to)[i * rows + j] += *(const float *)(const void *)(b + j * step);
        else
          ((double *)to)[i * rows + j] += *(const double *)(const void *)(b + j * step);
      }
  }
  return rush_take_stop(heap->ctx);
}

rush_status rush_cell_input(rush_heap *heap, const rush_cell *cell, int64_t n, const void *x,
                            void *gates) {
  return product(heap, n, x, cell->w_ih, cell->b_ih, gates);
}

static void sigmoid_f64(size_t n, double *out, const double *in) {
  for (size_t i = 0; i < n; i++) out[i] = rush_sigmoid_ref(in[i]);
}
static void tanh_f64(size_t n, double *out, const double *in) {
  for (size_t i = 0; i < n; i++) out[i] = tanh(in[i]);
}

/* The elementwise part of a step, for each dtype. g: gates from the input, r: gates from the state,
 * both [n][gates * H]. */
#define CELLS(T, t)                                                                                \
  static void plain_##t(int64_t n, int64_t H, T *g, const T *r, T *h, bool relu) {                 \
    for (int64_t i = 0; i < n * H; i++) h[i] = g[i] + r[i];                                        \
    if (!relu) tanh_##t((size_t)(n * H), h, h);                                                    \
    for (int64_t i = 0; relu && i < n * H; i++) h[i] = h[i] < 0 ? 0 : h[i];                        \
  }                                                                                                \
  static void gru_##t(int64_t n, int64_t H, T *g, const T *r, T *h) {                              \
    for (int64_t k = 0; k < n; k++, g += 3 * H, r += 3 * H, h += H) {                              \
      for (int64_t i = 0; i < 2 * H; i++) g[i] += r[i];                                            \
      sigmoid_##t((size_t)(2 * H), g, g);                                                          \
      for (int64_t i = 0; i < H; i++) g[2 * H + i] += g[i] * r[2 * H + i];                         \
      tanh_##t((size_t)H, g + 2 * H, g + 2 * H);                                                   \
      for (int64_t i = 0; i < H; i++) h[i] = (h[i] - g[2 * H + i]) * g[H + i] + g[2 * H + i];      \
    }                                                                                              \
  }                                                                                                \
  static void lstm_##t(int64_t n, int64_t H, T *g, const T *r, T *h, T *c) {                       \
    for (int64_t k = 0; k < n; k++, g += 4 * H, r += 4 * H, h += H, c += H) {                      \
      for (int64_t i = 0; i < 4 * H; i++) g[i] += r[i];                                            \
      sigmoid_##t((size_t)(2 * H), g, g);                                                          \
      tanh_##t((size_t)H, g + 2 * H, g + 2 * H);                                                   \
      sigmoid_##t((size_t)H, g + 3 * H, g + 3 * H);                                                \
      for (int64_t i = 0; i < H; i++) c[i] = g[H + i] * c[i] + g[i] * g[2 * H + i];                \
      tanh_##t((size_t)H, g, c);                                                                   \
      for (int64_t i = 0; i < H; i++) h[i] = g[3 * H + i] * g[i];                                  \
    }                                                                                              \
  }                                                                                                \
  static void cell_##t(rush_cell_kind kind, int64_t n, int64_t H, void *g, const void *r, void *h, \
                       void *c) {                                                                  \
    if (kind == RUSH_CELL_LSTM)                                                                    \
      lstm_##t(n, H, g, r, h, c);                                                                  \
    else if (kind == RUSH_CELL_GRU)                                                                \
      gru_##t(n, H, g, r, h);                                                                      \
    else                                                                                           \
      plain_##t(n, H, g, r, h, kind == RUSH_CELL_RELU);                                            \
  }
#define sigmoid_f32 rush_sigmoid_f32
#define tanh_f32 rush_tanh_f32
CELLS(float, f32)
CELLS(double, f64)

/* Some rows at a time, between which the host may stop the run. */
static rush_status update(rush_ctx *ctx, rush_cell_kind kind, rush_dtype dtype, int64_t n,
                          int64_t hidden, char *gates, const char *of_state, char *h, char *c) {
  const size_t gate_rows = (size_t)(rush_cell_gates(kind) * hidden);
  const size_t item = rush_dtype_size(dtype), row = gate_rows * item, out = (size_t)hidden * item;
  for (size_t i = 0, some; rush_next_piece(ctx, (size_t)n, 2 * gate_rows + 8, i, &some); i += some)
    (dtype == RUSH_FLOAT32 ? cell_f32 : cell_f64)(kind, (int64_t)some, hidden, gates + i * row,
                                                  of_state + i * row, h + i * out,
                                                  c ? c + i * out : c);
  return rush_take_stop(ctx);
}

rush_status rush_cell_state(rush_ctx *ctx, rush_cell_kind kind, int64_t n, int64_t hidden,
                            float *gates, const float *of_state, float *h, float *c) {
  return update(ctx, kind, RUSH_FLOAT32, n, hidden, (char *)gates, (const char *)of_state,
                (char *)h, (char *)c);
}

bool rush_cell_packed(const rush_cell *cell, size_t *bytes) {
  const rush_tensor *w = cell->w_hh;
  size_t floats;
  return rush_gemm_packed((size_t)w->sizes[1], (size_t)w->sizes[0], &floats) &&
         rush_mul(floats, sizeof(float), bytes);
}

rush_status rush_cell_pack(rush_call *c, rush_cell *cell, void *to) {
  const rush_tensor *w = cell->w_hh;
  rush_tensor *bias = NULL;
  if (cell->b_hh != NULL) RUSH_TRY(tmp_contiguous(c, (rush_tensor *)(uintptr_t)cell->b_hh, &bias));
  rush_gemm_pack(c->ctx, (size_t)w->sizes[1], (size_t)w->sizes[0], rush_data(w),
                 (ptrdiff_t)w->strides[1], (ptrdiff_t)w->strides[0], bias ? rush_data(bias) : NULL,
                 to);
  cell->packed = to;
  return RUSH_OK;
}

rush_status rush_cell_step(rush_heap *heap, const rush_cell *cell, int64_t n, void *gates,
                           void *room, void *h, void *c) {
  const int64_t hidden = cell->w_hh->sizes[0] / rush_cell_gates(cell->kind);
  const size_t gate_rows = (size_t)cell->w_hh->sizes[0], out = (size_t)cell->w_hh->sizes[1];
  RUSH_TRY(rush_charge(heap->ctx, 64));
  if (cell->packed != NULL)
    rush_gemm_parallel(heap->ctx, (size_t)n, gate_rows, out, h, out, cell->packed, room, gate_rows,
                       -INFINITY, INFINITY);
  else
    RUSH_TRY(product(heap, n, h, cell->w_hh, cell->b_hh, room));
  /* The projection reads an unprojected state that overwrites the old state's gates. Row k of it
   * ends before row k + 1 of the gates, which is read next. */
  void *full = cell->w_hr == NULL ? h : room;
  RUSH_TRY(update(heap->ctx, cell->kind, cell->w_hh->dtype, n, hidden, gates, room, full, c));
  return cell->w_hr == NULL ? RUSH_OK : product(heap, n, full, cell->w_hr, NULL, h);
}
