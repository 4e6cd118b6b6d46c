/* lstm, gru, rnn_tanh, rnn_relu on padded and packed sequences, and their cells: RNN.cpp. */
#include "blocks/cell.h"
#include "blocks/draw.h"
#include "call/define.h"

/* ---- Layers ---------------------------------------------------------------------------------- */

/* Steps of a sequence: step t has batches[t] rows, which never become more; all rows follow each
 * other. A padded sequence has the same number in each. */
typedef struct sequence {
  int64_t steps, rows, batch; /* batch: that of the first step */
  const int64_t *batches;     /* NULL: `batch` each */
} sequence;

static int64_t rows_at(const sequence *s, int64_t step) {
  return s->batches ? s->batches[step] : s->batch;
}

typedef struct network {
  rush_cell_kind kind;
  const rush_list *params;
  bool biases, train;
  int64_t layers, directions, hidden, out;
  double dropout;
  rush_tensor *h, *c; /* results: [layers * directions][batch][out or hidden]; c of an LSTM only */
  char *gates, *room; /* of a cell at work: [rows][gates * hidden], [batch][gates * hidden] */
  void *packed;       /* its weights, or NULL */
} network;

static int64_t params_per_cell(const network *n) {
  return 2 + (n->biases ? 2 : 0) + (n->out != n->hidden ? 1 : 0);
}

static rush_cell cell_at(const network *n, int64_t i) {
  const rush_value *p = n->params->items + i * params_per_cell(n);
  rush_cell cell = {.kind = n->kind, .w_ih = rush_as_tensor(p), .w_hh = rush_as_tensor(p + 1)};
  if (n->biases) {
    cell.b_ih = rush_as_tensor(p + 2);
    cell.b_hh = rush_as_tensor(p + 3);
  }
  if (n->out != n->hidden) cell.w_hr = rush_as_tensor(p + (n->biases ? 4 : 2));
  return cell;
}

/* Memory that one cell after another works in; they have the same sizes. */
static rush_status make_room(rush_call *c, network *n, const sequence *s, const rush_cell *cell) {
  const rush_dtype dtype = cell->w_hh->dtype;
  const size_t width = (size_t)(rush_cell_gates(n->kind) * n->hidden) * rush_dtype_size(dtype);
  RUSH_TRY(tmp_items(c, s->rows, width, (void **)&n->gates));
  RUSH_TRY(tmp_items(c, s->batch, width, (void **)&n->room));
  if (dtype != RUSH_FLOAT32 || s->steps <= 2) return RUSH_OK;
  size_t bytes;
  if (!rush_cell_packed(cell, &bytes)) return rush_fail_memory(c->ctx, SIZE_MAX);
  return tmp_bytes(c, bytes, &n->packed);
}

/* One layer in one direction, whose results are columns of `to` from `column` on. */
static rush_status run_cell(rush_call *c, const network *n, rush_cell *cell, const sequence *s,
                            int64_t index, const rush_tensor *x, rush_tensor *to, int64_t column,
                            bool backwards) {
  const size_t item = rush_itemsize(x),
               width = (size_t)(rush_cell_gates(n->kind) * n->hidden) * item;
  const size_t out = (size_t)n->out * item, to_row = (size_t)to->sizes[1] * item;
  char *h = (char *)rush_data(n->h) + (size_t)(index * s->batch) * out;
  char *state =
      n->c ? (char *)rush_data(n->c) + (size_t)(index * s->batch * n->hidden) * item : NULL;
  if (n->packed) RUSH_TRY(rush_cell_pack(c, cell, n->packed));
  RUSH_TRY(rush_cell_input(c->heap, cell, s->rows, rush_data(x), n->gates));
  int64_t at = backwards ? s->rows : 0;
  for (int64_t i = 0; i < s->steps; i++) {
    const int64_t rows = rows_at(s, backwards ? s->steps - 1 - i : i);
    if (backwards) at -= rows;
    RUSH_TRY(rush_cell_step(c->heap, cell, rows, n->gates + (size_t)at * width, n->room, h, state));
    char *row = (char *)rush_data(to) + (size_t)at * to_row + (size_t)column * item;
    for (int64_t r = 0; r < rows; r++) memcpy(row + (size_t)r * to_row, h + (size_t)r * out, out);
    if (!backwards) at += rows;
  }
  return RUSH_OK;
}

/* Between layers, in training. */
static rush_status drop_some(rush_call *c, const network *n, rush_tensor *t) {
  rush_tensor *mask;
  RUSH_TRY(tmp_new(c, RUSH_BOOL, t->rank, t->sizes, &mask));
  if (n->dropout < 1)
    rush_draw_bernoulli(c, mask, 1 - n->dropout);
  else
    memset(rush_data(mask), 0, (size_t)mask->numel);
  const uint8_t *kept = rush_data(mask);
  const double scale = n->dropout < 1 ? 1 / (1 - n->dropout) : 0;
  char *at = rush_data(t);
  for (int64_t i = 0; i < t->numel; i++, at += rush_itemsize(t))
    rush_store_double(t->dtype, at, rush_load_double(t->dtype, at) * (kept[i] * scale));
  return RUSH_OK;
}

/* x [rows][in], dense; *out [rows][directions * out] is a temporary. */
static rush_status run_layers(rush_call *c, network *n, const sequence *s, rush_tensor *x,
                              rush_tensor **out) {
  const int64_t sizes[] = {s->rows, n->directions * n->out};
  rush_tensor *turns[2]; /* what the layers give in turns; the last one gives turns[0] */
  for (int k = 0; k < 2 && k < n->layers; k++) RUSH_TRY(tmp_new(c, x->dtype, 2, sizes, turns + k));
  for (int64_t layer = 0; layer < n->layers; layer++) {
    rush_tensor *to = turns[(n->layers - 1 - layer) % 2];
    for (int64_t d = 0; d < n->directions; d++) {
      const int64_t index = layer * n->directions + d;
      rush_cell cell = cell_at(n, index);
      RUSH_TRY(rush_cell_check(c->ctx, &cell, x->dtype, x->sizes[1], n->hidden, n->out));
      if (index == 0) RUSH_TRY(make_room(c, n, s, &cell));
      RUSH_TRY(run_cell(c, n, &cell, s, index, x, to, d * n->out, d == 1));
    }
    if (n->train && n->dropout > 0 && layer + 1 < n->layers) RUSH_TRY(drop_some(c, n, to));
    x = to;
  }
  *out = x;
  return RUSH_OK;
}

/* ---- Sequences ------------------------------------------------------------------------------- */

/* The result `i`, a copy of a first state [layers * directions][batch][features]. */
static rush_status take_state(rush_call *c, uint32_t i, const network *n, const sequence *s,
                              const rush_tensor *from, rush_dtype dtype, rush_tensor **out) {
  char text[RUSH_SHAPE_TEXT];
  RUSH_NEED(
      from->rank == 3 && from->sizes[0] == n->layers * n->directions && from->sizes[1] == s->batch,
      "Expected hidden size (%lld, %lld, ...), got %s", (long long)(n->layers * n->directions),
      (long long)s->batch, rush_shape_text(from->rank, from->sizes, text));
  RUSH_NEED(from->dtype == dtype,
            "Input and hidden tensors are not the same dtype, found input tensor with %s and "
            "hidden tensor with %s",
            rush_dtype_name(dtype), rush_dtype_name(from->dtype));
  RUSH_TRY(rush_result(c, i, dtype, 3, from->sizes, out));
  return rush_tensor_copy(c->heap, *out, from);
}

/* hx at argument `at`, a list of two for an LSTM; behind it params, has_biases, num_layers,
 * dropout, train and bidirectional. */
static rush_status take_network(rush_call *c, rush_cell_kind kind, uint32_t at, rush_dtype dtype,
                                const sequence *s, network *n) {
  *n = (network){.kind = kind,
                 .params = arg_list(c, at + 1),
                 .biases = arg_bool(c, at + 2),
                 .train = arg_bool(c, at + 5),
                 .layers = arg_int(c, at + 3),
                 .directions = arg_bool(c, at + 6) ? 2 : 1,
                 .dropout = arg_float(c, at + 4)};
  const rush_tensor *h = NULL, *state = NULL;
  RUSH_NEED(rush_is_float(dtype), "a recurrent layer takes floats, not %s", rush_dtype_name(dtype));
  if (kind == RUSH_CELL_LSTM) {
    const rush_list *hx = arg_list(c, at);
    RUSH_NEED(hx->n == 2, "lstm expects two hidden states");
    h = rush_as_tensor(hx->items);
    state = rush_as_tensor(hx->items + 1);
  } else {
    h = arg_tensor(c, at);
  }
  RUSH_NEED(n->dropout >= 0 && n->dropout <= 1,
            "dropout probability has to be between 0 and 1, but got %g", n->dropout);
  RUSH_NEED(n->layers > 0, "a recurrent layer has at least one layer, not %lld",
            (long long)n->layers);
  RUSH_TRY(take_state(c, 1, n, s, h, dtype, &n->h));
  n->out = h->sizes[2];
  n->hidden = n->out;
  if (state != NULL) {
    RUSH_TRY(take_state(c, 2, n, s, state, dtype, &n->c));
    n->hidden = state->sizes[2];
  }
  RUSH_NEED((int64_t)n->params->n / n->layers / n->directions == params_per_cell(n) &&
                (int64_t)n->params->n == n->layers * n->directions * params_per_cell(n),
            "got an incorrect number of RNN parameters: %zu", n->params->n);
  return RUSH_OK;
}

/* input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first */
static rush_status run_padded(rush_call *c, rush_cell_kind kind) {
  rush_tensor *input = arg_tensor(c, 0), *turned, *x, *rows, *out;
  const bool batch_first = arg_bool(c, 8);
  RUSH_NEED(input->rank == 3, "RNN: Expected input to be 3D, got %dD", input->rank);
  const int t = batch_first ? 1 : 0;
  const sequence s = {input->sizes[t], input->sizes[0] * input->sizes[1], input->sizes[1 - t],
                      NULL};
  RUSH_NEED(s.steps > 0, "Expected sequence length to be larger than 0 in RNN");
  network n;
  RUSH_TRY(take_network(c, kind, 1, input->dtype, &s, &n));
  const int64_t sizes[] = {s.steps, s.batch, input->sizes[2]};
  RUSH_TRY(tmp_view(c, input, 3, sizes,
                    (int64_t[]){input->strides[t], input->strides[1 - t], input->strides[2]},
                    input->offset, &turned));
  RUSH_TRY(tmp_contiguous(c, turned, &x));
  RUSH_TRY(
      tmp_view(c, x, 2, (int64_t[]){s.rows, sizes[2]}, (int64_t[]){sizes[2], 1}, x->offset, &rows));
  RUSH_TRY(run_layers(c, &n, &s, rows, &out));
  const int64_t width = n.directions * n.out;
  const int64_t own[] = {batch_first ? s.batch : s.steps, batch_first ? s.steps : s.batch, width};
  const int64_t strides[] = {batch_first ? width : s.batch * width,
                             batch_first ? s.batch * width : width, 1};
  return rush_result_view(c, 0, out, 3, own, strides, 0);
}
RUSH_OP(lstm) {
  return run_padded(c, RUSH_CELL_LSTM);
}
RUSH_OP(gru) {
  return run_padded(c, RUSH_CELL_GRU);
}
RUSH_OP(rnn_tanh) {
  return run_padded(c, RUSH_CELL_TANH);
}
RUSH_OP(rnn_relu) {
  return run_padded(c, RUSH_CELL_RELU);
}

/* ---- Packed sequences ------------------------------------------------------------------------ */

/* batch_sizes: int64, dense, positive, never growing; their sum is the number of rows. */
static rush_status take_batches(rush_call *c, const rush_tensor *sizes, int64_t rows, sequence *s) {
  RUSH_NEED(sizes->rank == 1 && sizes->dtype == RUSH_INT64 && sizes->numel > 0 &&
                rush_is_contiguous(sizes),
            "batch_sizes of a packed sequence are a flat tensor of int64");
  *s = (sequence){sizes->numel, 0, 0, rush_data(sizes)};
  s->batch = s->batches[0];
  for (int64_t t = 0; t < s->steps; t++) {
    RUSH_NEED(s->batches[t] > 0 && (t == 0 || s->batches[t] <= s->batches[t - 1]),
              "batch_sizes of a packed sequence are positive and never grow");
    RUSH_NEED(rush_add64(s->rows, s->batches[t], &s->rows) && s->rows <= rows,
              "batch_sizes say more rows than the packed sequence has");
  }
  RUSH_NEED(s->rows == rows, "batch_sizes say %lld rows, the packed sequence has %lld",
            (long long)s->rows, (long long)rows);
  return RUSH_OK;
}

/* data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional */
static rush_status run_packed(rush_call *c, rush_cell_kind kind) {
  rush_tensor *data = arg_tensor(c, 0), *x, *out;
  sequence s;
  network n;
  RUSH_NEED(data->rank == 2, "a packed sequence has 2 dimensions, not %d", data->rank);
  RUSH_TRY(take_batches(c, arg_tensor(c, 1), data->sizes[0], &s));
  RUSH_TRY(take_network(c, kind, 2, data->dtype, &s, &n));
  RUSH_TRY(tmp_contiguous(c, data, &x));
  RUSH_TRY(run_layers(c, &n, &s, x, &out));
  ret_tensor(c, 0, rush_tensor_keep(out));
  return RUSH_OK;
}
RUSH_OP(lstm_packed) {
  return run_packed(c, RUSH_CELL_LSTM);
}
RUSH_OP(gru_packed) {
  return run_packed(c, RUSH_CELL_GRU);
}
RUSH_OP(rnn_tanh_packed) {
  return run_packed(c, RUSH_CELL_TANH);
}
RUSH_OP(rnn_relu_packed) {
  return run_packed(c, RUSH_CELL_RELU);
}

/* ---- Cells ----------------------------------------------------------------------------------- */

/* The state is result 0, and result 1 of an LSTM. input, hx, w_ih, w_hh, b_ih, b_hh */
static rush_status run_one(rush_call *c, rush_cell_kind kind, const rush_tensor *first,
                           const rush_tensor *first_c) {
  rush_tensor *input = arg_tensor(c, 0), *h, *state = NULL, *x;
  const rush_cell cell = {
      kind, arg_tensor(c, 2), arg_tensor(c, 3), arg_tensor(c, 4), arg_tensor(c, 5), NULL, NULL};
  const rush_dtype dtype = input->dtype;
  RUSH_NEED(rush_is_float(dtype), "a recurrent cell takes floats, not %s", rush_dtype_name(dtype));
  RUSH_NEED(input->rank == 2 && first->rank == 2,
            "a recurrent cell takes an input and a state of 2 dimensions, not %d "
            "and %d",
            input->rank, first->rank);
  RUSH_NEED(first->sizes[0] == input->sizes[0],
            "Input batch size %lld doesn't match hidden0 batch size %lld",
            (long long)input->sizes[0], (long long)first->sizes[0]);
  RUSH_NEED(first->dtype == dtype, "the input is %s, the state %s", rush_dtype_name(dtype),
            rush_dtype_name(first->dtype));
  RUSH_NEED(first_c == NULL || (first_c->dtype == dtype && rush_same_sizes(first_c, first)),
            "both states of an LSTM have the same sizes and dtype");
  const int64_t n = input->sizes[0], hidden = first->sizes[1];
  RUSH_TRY(rush_cell_check(c->ctx, &cell, dtype, input->sizes[1], hidden, hidden));
  RUSH_TRY(rush_result(c, 0, dtype, 2, first->sizes, &h));
  RUSH_TRY(rush_tensor_copy(c->heap, h, first));
  if (first_c != NULL) {
    RUSH_TRY(rush_result(c, 1, dtype, 2, first->sizes, &state));
    RUSH_TRY(rush_tensor_copy(c->heap, state, first_c));
  }
  const size_t width = (size_t)(rush_cell_gates(kind) * hidden) * rush_itemsize(input);
  char *gates;
  RUSH_TRY(tmp_contiguous(c, input, &x));
  RUSH_TRY(tmp_items(c, 2 * n, width, (void **)&gates));
  RUSH_TRY(rush_cell_input(c->heap, &cell, n, rush_data(x), gates));
  return rush_cell_step(c->heap, &cell, n, gates, gates + (size_t)n * width, rush_data(h),
                        state ? rush_data(state) : NULL);
}
RUSH_OP(lstm_cell) {
  const rush_list *hx = arg_list(c, 1);
  RUSH_NEED(hx->n == 2, "lstm_cell expects two hidden states");
  return run_one(c, RUSH_CELL_LSTM, rush_as_tensor(hx->items), rush_as_tensor(hx->items + 1));
}
RUSH_OP(gru_cell) {
  return run_one(c, RUSH_CELL_GRU, arg_tensor(c, 1), NULL);
}
RUSH_OP(rnn_tanh_cell) {
  return run_one(c, RUSH_CELL_TANH, arg_tensor(c, 1), NULL);
}
RUSH_OP(rnn_relu_cell) {
  return run_one(c, RUSH_CELL_RELU, arg_tensor(c, 1), NULL);
}
