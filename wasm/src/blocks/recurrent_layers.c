#include "blocks/recurrent_layers.h"

#include "blocks/random_fill.h"
#include "call/define.h"

/* ---- Sequences ------------------------------------------------------------------------------- */

rush_status rush_sequence_padded(rush_call *c, bool batch_first, rush_sequence *out) {
  const rush_tensor *input = arg_tensor(c, 0);
  RUSH_CHECK_ARG(input->rank == 3, "RNN: Expected input to be 3D, got %dD", input->rank);
  const int t = batch_first ? 1 : 0;
  *out = (rush_sequence){input->sizes[t], input->sizes[0] * input->sizes[1], input->sizes[1 - t],
                         NULL};
  RUSH_CHECK_ARG(out->steps > 0, "Expected sequence length to be larger than 0 in RNN");
  return RUSH_OK;
}

/* batch_sizes must be int64, dense, positive and non-increasing. Their sum is the number of
 * rows. */
rush_status rush_sequence_packed(rush_call *c, const rush_tensor *batch_sizes, rush_sequence *out) {
  const rush_tensor *data = arg_tensor(c, 0);
  RUSH_CHECK_ARG(data->rank == 2, "a packed sequence must have 2 dimensions, got %d", data->rank);
  RUSH_CHECK_ARG(batch_sizes->rank == 1 && batch_sizes->dtype == RUSH_INT64 &&
                     batch_sizes->numel > 0 && rush_is_contiguous(batch_sizes),
                 "batch_sizes must be a flat tensor of int64");
  rush_sequence s = {batch_sizes->numel, 0, 0, rush_data(batch_sizes)};
  const int64_t rows = data->sizes[0];
  s.batch = s.batches[0];
  for (int64_t t = 0; t < s.steps; t++) {
    RUSH_CHECK_ARG(s.batches[t] > 0 && (t == 0 || s.batches[t] <= s.batches[t - 1]),
                   "batch_sizes must be positive and must not increase");
    RUSH_CHECK_ARG(rush_add64(s.rows, s.batches[t], &s.rows) && s.rows <= rows,
                   "batch_sizes must add up to the %lld rows of the packed sequence, got more",
                   (long long)rows);
  }
  RUSH_CHECK_ARG(s.rows == rows,
                 "batch_sizes must add up to the %lld rows of the packed sequence, got %lld",
                 (long long)rows, (long long)s.rows);
  *out = s;
  return RUSH_OK;
}

static int64_t rows_at(const rush_sequence *s, int64_t step) {
  return s->batches ? s->batches[step] : s->batch;
}

/* ---- States ---------------------------------------------------------------------------------- */

/* Sets result `i` to a copy of an initial state [layers * directions][batch][features]. */
static rush_status take_state(rush_call *c, uint32_t i, const rush_recurrent *n,
                              const rush_sequence *s, const rush_tensor *from, rush_tensor **out) {
  char text[RUSH_SHAPE_TEXT];
  const rush_dtype dtype = arg_tensor(c, 0)->dtype;
  RUSH_CHECK_ARG(
      from->rank == 3 && from->sizes[0] == n->layers * n->directions && from->sizes[1] == s->batch,
      "Expected hidden size (%lld, %lld, ...), got %s", (long long)(n->layers * n->directions),
      (long long)s->batch, rush_shape_text(from->rank, from->sizes, text));
  RUSH_CHECK_ARG(from->dtype == dtype,
                 "Input and hidden tensors are not the same dtype, found input tensor with %s and "
                 "hidden tensor with %s",
                 rush_dtype_name(dtype), rush_dtype_name(from->dtype));
  RUSH_TRY(rush_result(c, i, dtype, 3, from->sizes, out));
  return rush_tensor_copy(c->heap, *out, from);
}

rush_status rush_recurrent_state(rush_call *c, rush_recurrent *n, const rush_sequence *s,
                                 uint32_t at) {
  const rush_tensor *h = NULL, *state = NULL;
  if (n->kind == RUSH_CELL_LSTM) {
    const rush_list *hx = arg_list(c, at);
    RUSH_CHECK_ARG(hx->n == 2, "lstm expects two hidden states");
    h = rush_as_tensor(hx->items);
    state = rush_as_tensor(hx->items + 1);
  } else {
    h = arg_tensor(c, at);
  }
  RUSH_CHECK_ARG(n->dropout >= 0 && n->dropout <= 1,
                 "dropout probability has to be between 0 and 1, but got %g", n->dropout);
  RUSH_CHECK_ARG(n->layers > 0, "num_layers must be at least 1, got %lld", (long long)n->layers);
  RUSH_TRY(take_state(c, 1, n, s, h, &n->h));
  n->out = h->sizes[2];
  n->hidden = n->out;
  if (state == NULL) return RUSH_OK;
  n->hidden = state->sizes[2];
  return take_state(c, 2, n, s, state, &n->c);
}

/* ---- Layers ---------------------------------------------------------------------------------- */

/* Runs one layer in one direction. Its outputs are columns of `to`, starting at `column`. */
static rush_status run_cell(rush_call *c, rush_recurrent *n, const rush_sequence *s, int64_t index,
                            const rush_tensor *x, char *gates, rush_tensor *to, int64_t column,
                            bool backwards) {
  const size_t item = rush_itemsize(x),
               width = (size_t)(rush_cell_gates(n->kind) * n->hidden) * item;
  const size_t out = (size_t)n->out * item, to_row = (size_t)to->sizes[1] * item;
  char *h = (char *)rush_data(n->h) + (size_t)(index * s->batch) * out;
  char *state =
      n->c ? (char *)rush_data(n->c) + (size_t)(index * s->batch * n->hidden) * item : NULL;
  RUSH_TRY(n->begin(c, n, s, index, x, gates));
  int64_t at = backwards ? s->rows : 0;
  for (int64_t i = 0; i < s->steps; i++) {
    const int64_t rows = rows_at(s, backwards ? s->steps - 1 - i : i);
    if (backwards) at -= rows;
    RUSH_TRY(n->step(c, n, rows, gates + (size_t)at * width, h, state));
    char *row = (char *)rush_data(to) + (size_t)at * to_row + (size_t)column * item;
    for (int64_t r = 0; r < rows; r++) memcpy(row + (size_t)r * to_row, h + (size_t)r * out, out);
    if (!backwards) at += rows;
  }
  return RUSH_OK;
}

/* Applies dropout between layers in training mode. */
static rush_status drop_some(rush_call *c, const rush_recurrent *n, rush_tensor *t) {
  rush_tensor *mask;
  RUSH_TRY(tmp_new(c, RUSH_BOOL, t->rank, t->sizes, &mask));
  if (n->dropout < 1)
    rush_random_fill_bernoulli(c, mask, 1 - n->dropout);
  else
    RUSH_TRY(rush_set_bytes(c->ctx, rush_data(mask), 0, (size_t)mask->numel));
  const uint8_t *kept = rush_data(mask);
  const double scale = n->dropout < 1 ? 1 / (1 - n->dropout) : 0;
  char *at = rush_data(t);
  for (int64_t i = 0; i < t->numel; i++, at += rush_itemsize(t))
    rush_store_double(t->dtype, at, rush_load_double(t->dtype, at) * (kept[i] * scale));
  return RUSH_OK;
}

/* x is a dense [rows][in]. *out [rows][directions * out] is a temporary. */
static rush_status run_layers(rush_call *c, rush_recurrent *n, const rush_sequence *s,
                              rush_tensor *x, rush_tensor **out) {
  const int64_t sizes[] = {s->rows, n->directions * n->out};
  size_t width;
  if (!rush_mul((size_t)n->hidden, (size_t)rush_cell_gates(n->kind), &width) ||
      !rush_mul(width, rush_itemsize(x), &width))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  void *gates;           /* of the current cell: [rows][gates * hidden] */
  rush_tensor *turns[2]; /* alternating outputs of the layers; the last one is turns[0] */
  for (int k = 0; k < 2 && k < n->layers; k++) RUSH_TRY(tmp_new(c, x->dtype, 2, sizes, turns + k));
  RUSH_TRY(tmp_items(c, s->rows, width, &gates));
  for (int64_t layer = 0; layer < n->layers; layer++) {
    rush_tensor *to = turns[(n->layers - 1 - layer) % 2];
    for (int64_t d = 0; d < n->directions; d++)
      RUSH_TRY(run_cell(c, n, s, layer * n->directions + d, x, gates, to, d * n->out, d == 1));
    if (n->train && n->dropout > 0 && layer + 1 < n->layers) RUSH_TRY(drop_some(c, n, to));
    x = to;
  }
  *out = x;
  return RUSH_OK;
}

rush_status rush_recurrent_run(rush_call *c, rush_recurrent *n, const rush_sequence *s,
                               bool batch_first) {
  rush_tensor *input = arg_tensor(c, 0), *x, *out;
  if (s->batches != NULL) {
    RUSH_TRY(tmp_contiguous(c, input, &x));
    RUSH_TRY(run_layers(c, n, s, x, &out));
    ret_tensor(c, 0, rush_tensor_retain(out));
    return RUSH_OK;
  }
  const int t = batch_first ? 1 : 0;
  const int64_t sizes[] = {s->steps, s->batch, input->sizes[2]};
  rush_tensor *turned, *rows;
  RUSH_TRY(tmp_view(c, input, 3, sizes,
                    (int64_t[]){input->strides[t], input->strides[1 - t], input->strides[2]},
                    input->offset, &turned));
  RUSH_TRY(tmp_contiguous(c, turned, &x));
  RUSH_TRY(tmp_view(c, x, 2, (int64_t[]){s->rows, sizes[2]}, (int64_t[]){sizes[2], 1}, x->offset,
                    &rows));
  RUSH_TRY(run_layers(c, n, s, rows, &out));
  const int64_t width = n->directions * n->out;
  const int64_t own[] = {batch_first ? s->batch : s->steps, batch_first ? s->steps : s->batch,
                         width};
  const int64_t strides[] = {batch_first ? width : s->batch * width,
                             batch_first ? s->batch * width : width, 1};
  return rush_result_view(c, 0, out, 3, own, strides, 0);
}
