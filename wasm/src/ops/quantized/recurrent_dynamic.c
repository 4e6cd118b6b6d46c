/* LSTM and GRU with int8 weights, whose inputs and states are dynamically quantized: PyTorch's
 * quantized_lstm and quantized_gru. */
#include "blocks/packed_int8.h"
#include "blocks/recurrent_layers.h"
#include "call/define.h"

enum { INPUT, BATCH_SIZES, HX, WEIGHT, SCALES, ZEROS, BIAS, LEVELS, LAYERS, BIDIRECTIONAL, FIRST };

/* The weights of all cells are concatenated: for each cell [rows][input features], then
 * [rows][hidden]. */
typedef struct shape {
  int64_t layers, directions, rows, in, hidden;
} shape;

/* Derives the sizes from the numbers of weights and scales. Returns false if they do not match. */
static bool shape_of(rush_cell_kind kind, int64_t weights, int64_t scales, int64_t layers,
                     bool bidirectional, shape *out) {
  *out = (shape){.layers = layers, .directions = bidirectional ? 2 : 1};
  if (layers < 1 || layers > scales) return false;
  const int64_t cells = layers * out->directions;
  out->rows = scales / (2 * cells);
  out->hidden = out->rows / rush_cell_gates(kind);
  const int64_t rows = cells * out->rows, first = out->directions * out->rows,
                width = out->directions * out->hidden; /* bounded by `scales`, so no overflow */
  int64_t all, deep;
  if (out->hidden < 1 || 2 * rows != scales || out->hidden * rush_cell_gates(kind) != out->rows ||
      !rush_mul64(rows, out->hidden, &all) || !rush_mul64(rows - first, width, &deep) ||
      !rush_add64(all, deep, &all) || all > weights)
    return false;
  out->in = (weights - all) / (out->directions * out->rows);
  return all + out->in * out->directions * out->rows == weights;
}

static size_t features(const shape *s, int64_t cell) {
  return (size_t)(cell < s->directions ? s->in : s->directions * s->hidden);
}

/* Computes the bytes of packed weights before a cell, and the bytes of its input weights, which its
 * state weights follow. */
static bool packed_bytes(const shape *s, int64_t cell, size_t *bytes, size_t *of_input) {
  const size_t rows = (size_t)s->rows;
  const int64_t first = cell < s->directions ? cell : s->directions;
  size_t shallow, deep, state;
  if (!rush_int8_packed(rows, (size_t)s->in, &shallow) ||
      !rush_int8_packed(rows, (size_t)(s->directions * s->hidden), &deep) ||
      !rush_int8_packed(rows, (size_t)s->hidden, &state))
    return false;
  *of_input = cell < s->directions ? shallow : deep;
  return rush_add(shallow, state, &shallow) && rush_add(deep, state, &deep) &&
         rush_mul(shallow, (size_t)first, &shallow) &&
         rush_mul(deep, (size_t)(cell - first), &deep) && rush_add(shallow, deep, bytes);
}

static bool all_bytes(const shape *s, size_t *bytes) {
  size_t of_input;
  return packed_bytes(s, s->layers * s->directions, bytes, &of_input);
}

static void pack(rush_ctx *ctx, const shape *s, const int8_t *w, const float *scales,
                 const int32_t *zeros, const float *bias, void *packed) {
  const size_t rows = (size_t)s->rows;
  uint8_t *to = packed;
  for (int64_t i = 0; i < 2 * s->layers * s->directions; i++) {
    const size_t k = i % 2 == 0 ? features(s, i / 2) : (size_t)s->hidden;
    size_t bytes;
    if (!rush_int8_packed(rows, k, &bytes)) return;
    rush_int8_pack(ctx, rows, k, w, scales, zeros, bias, to);
    w += rows * k, scales += rows, zeros += rows, bias += rows, to += bytes;
  }
}

static rush_status prepare(rush_prepare *p, rush_cell_kind kind) {
  const rush_tensor *w = rush_constant_of(p, WEIGHT, RUSH_INT8, 1);
  const rush_tensor *scales = rush_constant_of(p, SCALES, RUSH_FLOAT32, 1);
  const rush_tensor *zeros = rush_constant_of(p, ZEROS, RUSH_INT32, 1);
  const rush_tensor *bias = rush_constant_of(p, BIAS, RUSH_FLOAT32, 1);
  const rush_value *layers = p->args[LAYERS], *both = p->args[BIDIRECTIONAL];
  rush_packed_floats *packed;
  shape s;
  size_t bytes;
  if (w == NULL || scales == NULL || zeros == NULL || bias == NULL || layers == NULL ||
      both == NULL || zeros->numel != scales->numel || bias->numel != scales->numel ||
      !shape_of(kind, w->numel, scales->numel, layers->u.i, both->u.i != 0, &s))
    return RUSH_OK;
  if (!all_bytes(&s, &bytes)) return rush_fail_memory(p->ctx, SIZE_MAX);
  RUSH_TRY(rush_packed_new(p, bytes / sizeof(float), &packed));
  pack(p->ctx, &s, rush_data(w), rush_data(scales), rush_data(zeros), rush_data(bias),
       packed->data);
  p->consumed = 1u << WEIGHT | 1u << SCALES | 1u << ZEROS | 1u << BIAS;
  return rush_take_stop(p->ctx);
}
RUSH_PREPARE(lstm_dynamic) {
  return prepare(p, RUSH_CELL_LSTM);
}
RUSH_PREPARE(gru_dynamic) {
  return prepare(p, RUSH_CELL_GRU);
}

typedef struct network {
  rush_recurrent base;
  shape shape;
  int64_t levels;
  const uint8_t *packed, *of_state; /* of the current cell */
  rush_int8_rows rows;              /* wide enough for every cell */
  float *room;                      /* [batch][rows] */
} network;

static rush_status begin(rush_call *c, rush_recurrent *base, const rush_sequence *s, int64_t index,
                         const rush_tensor *x, void *gates) {
  network *n = (network *)base;
  rush_int8_rows rows = n->rows;
  size_t bytes, of_input;
  if (!packed_bytes(&n->shape, index, &bytes, &of_input)) return rush_fail_memory(c->ctx, SIZE_MAX);
  rows.m = (size_t)s->rows;
  rows.k = features(&n->shape, index);
  n->of_state = n->packed + bytes + of_input;
  return rush_int8_dynamic(c->ctx, n->levels, rush_data(x), rows.k, &rows, (size_t)n->shape.rows,
                           n->packed + bytes, gates);
}

static rush_status step(rush_call *c, const rush_recurrent *base, int64_t rows_here, void *gates,
                        void *h, void *state) {
  const network *n = (const network *)base;
  const int64_t hidden = n->shape.hidden;
  rush_int8_rows rows = n->rows;
  rows.m = (size_t)rows_here;
  rows.k = (size_t)hidden;
  RUSH_TRY(rush_charge(c->ctx, 64));
  RUSH_TRY(rush_int8_dynamic(c->ctx, n->levels, h, rows.k, &rows, (size_t)n->shape.rows,
                             n->of_state, n->room));
  return rush_cell_state(c->ctx, n->base.kind, rows_here, hidden, gates, n->room, h, state);
}

/* Packs weights that are not constant. */
static rush_status pack_now(rush_call *c, const shape *s, const uint8_t **packed) {
  rush_tensor *w, *scales, *zeros, *bias;
  size_t bytes;
  void *to;
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, WEIGHT), &w));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, SCALES), &scales));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, ZEROS), &zeros));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, BIAS), &bias));
  if (!all_bytes(s, &bytes)) return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_bytes(c, bytes, &to));
  pack(c->ctx, s, rush_data(w), rush_data(scales), rush_data(zeros), rush_data(bias), to);
  *packed = to;
  return rush_take_stop(c->ctx);
}

static rush_status check(rush_call *c, network *n) {
  const rush_tensor *x = arg_tensor(c, INPUT), *w = arg_tensor(c, WEIGHT);
  const rush_tensor *scales = arg_tensor(c, SCALES), *zeros = arg_tensor(c, ZEROS);
  const rush_tensor *bias = arg_tensor(c, BIAS);
  RUSH_CHECK_ARG(x->dtype == RUSH_FLOAT32, "the input must be float32, got %s",
                 rush_dtype_name(x->dtype));
  RUSH_CHECK_ARG(w->dtype == RUSH_INT8 && w->rank == 1 && scales->dtype == RUSH_FLOAT32 &&
                     scales->rank == 1 && zeros->dtype == RUSH_INT32 && zeros->rank == 1 &&
                     bias->dtype == RUSH_FLOAT32 && bias->rank == 1 &&
                     zeros->numel == scales->numel && bias->numel == scales->numel &&
                     shape_of(n->base.kind, w->numel, scales->numel, n->base.layers,
                              n->base.directions == 2, &n->shape),
                 "the weights must be int8, with a scale, a zero point and a bias for each "
                 "row, for %lld layers",
                 (long long)n->base.layers);
  RUSH_CHECK_ARG(x->rank > 0 && x->sizes[x->rank - 1] == n->shape.in,
                 "input.size(-1) must be equal to input_size. Expected %lld",
                 (long long)n->shape.in);
  RUSH_CHECK_ARG(n->levels >= 1 && n->levels <= UINT8_MAX,
                 "levels must be between 1 and 255, got %lld", (long long)n->levels);
  return RUSH_OK;
}

/* input [steps, batch, features], or [batch, steps, features] with batch_first, or with batch_sizes
 * the rows [rows, features] of a packed sequence; the initial states; weight of int8, flat, with
 * the input weights and then the state weights of each layer and direction; scales, zero_points
 * (int32) and bias, one per row of these weights; levels (127 or 255), the range of the quantized
 * inputs and states. Returns the results of lstm and gru. */
static rush_status run(rush_call *c, rush_cell_kind kind) {
  const bool batch_first = arg_bool(c, FIRST);
  rush_sequence s;
  network n = {.base = {.kind = kind,
                        .layers = arg_int(c, LAYERS),
                        .directions = arg_bool(c, BIDIRECTIONAL) ? 2 : 1,
                        .begin = begin,
                        .step = step},
               .levels = arg_int(c, LEVELS),
               .packed = (const uint8_t *)rush_packed_data(c->packed)};
  if (arg_is_none(c, BATCH_SIZES))
    RUSH_TRY(rush_sequence_padded(c, batch_first, &s));
  else
    RUSH_TRY(rush_sequence_packed(c, arg_tensor(c, BATCH_SIZES), &s));
  RUSH_TRY(check(c, &n));
  RUSH_TRY(rush_recurrent_state(c, &n.base, &s, HX));
  RUSH_CHECK_ARG(n.base.hidden == n.shape.hidden && n.base.out == n.shape.hidden,
                 "the states must have %lld features, got %lld and %lld", (long long)n.shape.hidden,
                 (long long)n.base.hidden, (long long)n.base.out);
  if (n.packed == NULL) RUSH_TRY(pack_now(c, &n.shape, &n.packed));
  const int64_t deep = n.shape.directions * n.shape.hidden;
  RUSH_TRY(rush_int8_rows_new(c, s.rows, n.shape.in > deep ? n.shape.in : deep, &n.rows));
  size_t row;
  if (!rush_mul((size_t)n.shape.rows, sizeof(float), &row))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_items(c, s.batch, row, (void **)&n.room));
  return rush_recurrent_run(c, &n.base, &s, batch_first && s.batches == NULL);
}
RUSH_OP(lstm_dynamic) {
  return run(c, RUSH_CELL_LSTM);
}
RUSH_OP(gru_dynamic) {
  return run(c, RUSH_CELL_GRU);
}
