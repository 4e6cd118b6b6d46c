/* lstm, gru, rnn_tanh and rnn_relu on padded and packed sequences, and their cells. Follows
 * aten/src/ATen/native/RNN.cpp. */
#include "blocks/recurrent_layers.h"
#include "call/define.h"

/* ---- Layers ---------------------------------------------------------------------------------- */

typedef struct network {
  rush_recurrent base;
  const rush_list *params;
  bool biases;
  rush_cell cell; /* the current cell */
  char *room;     /* its scratch memory, [batch][gates * hidden] */
  void *packed;   /* its packed weights, or NULL */
} network;

static int64_t params_per_cell(const network *n) {
  return 2 + (n->biases ? 2 : 0) + (n->base.out != n->base.hidden ? 1 : 0);
}

static rush_cell cell_at(const network *n, int64_t i) {
  const rush_value *p = n->params->items + i * params_per_cell(n);
  rush_cell cell = {.kind = n->base.kind, .w_ih = rush_as_tensor(p), .w_hh = rush_as_tensor(p + 1)};
  if (n->biases) {
    cell.b_ih = rush_as_tensor(p + 2);
    cell.b_hh = rush_as_tensor(p + 3);
  }
  if (n->base.out != n->base.hidden) cell.w_hr = rush_as_tensor(p + (n->biases ? 4 : 2));
  return cell;
}

/* Allocates scratch memory that all cells share in turn, because they have the same sizes. */
static rush_status make_room(rush_call *c, network *n, const rush_sequence *s) {
  const rush_dtype dtype = n->cell.w_hh->dtype;
  size_t width;
  if (!rush_mul((size_t)n->base.hidden, (size_t)rush_cell_gates(n->base.kind), &width) ||
      !rush_mul(width, rush_dtype_size(dtype), &width))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_items(c, s->batch, width, (void **)&n->room));
  if (dtype != RUSH_FLOAT32 || s->steps <= 2) return RUSH_OK;
  size_t bytes;
  if (!rush_cell_packed(&n->cell, &bytes)) return rush_fail_memory(c->ctx, SIZE_MAX);
  return tmp_bytes(c, bytes, &n->packed);
}

static rush_status begin(rush_call *c, rush_recurrent *base, const rush_sequence *s, int64_t index,
                         const rush_tensor *x, void *gates) {
  network *n = (network *)base;
  n->cell = cell_at(n, index);
  RUSH_TRY(rush_cell_check(c->ctx, &n->cell, x->dtype, x->sizes[1], n->base.hidden, n->base.out));
  if (index == 0) RUSH_TRY(make_room(c, n, s));
  if (n->packed) RUSH_TRY(rush_cell_pack(c, &n->cell, n->packed));
  return rush_cell_input(c->heap, &n->cell, s->rows, rush_data(x), gates);
}

static rush_status step(rush_call *c, const rush_recurrent *base, int64_t rows, void *gates,
                        void *h, void *state) {
  const network *n = (const network *)base;
  return rush_cell_step(c->heap, &n->cell, rows, gates, n->room, h, state);
}

/* Argument `at` is hx, a list of two tensors for an LSTM. It is followed by params, has_biases,
 * num_layers, dropout, train and bidirectional. */
static rush_status run(rush_call *c, rush_cell_kind kind, uint32_t at, const rush_sequence *s,
                       bool batch_first) {
  const rush_dtype dtype = arg_tensor(c, 0)->dtype;
  network n = {.base = {.kind = kind,
                        .layers = arg_int(c, at + 3),
                        .directions = arg_bool(c, at + 6) ? 2 : 1,
                        .train = arg_bool(c, at + 5),
                        .dropout = arg_float(c, at + 4),
                        .begin = begin,
                        .step = step},
               .params = arg_list(c, at + 1),
               .biases = arg_bool(c, at + 2)};
  RUSH_CHECK_ARG(rush_is_float(dtype), "the input must have a floating-point dtype, got %s",
                 rush_dtype_name(dtype));
  RUSH_TRY(rush_recurrent_state(c, &n.base, s, at));
  RUSH_CHECK_ARG(
      (int64_t)n.params->n / n.base.layers / n.base.directions == params_per_cell(&n) &&
          (int64_t)n.params->n == n.base.layers * n.base.directions * params_per_cell(&n),
      "got an incorrect number of RNN parameters: %zu", n.params->n);
  return rush_recurrent_run(c, &n.base, s, batch_first);
}

/* A 2-d argument 0 is one sequence for the whole batch of the state. PyTorch broadcasts the input's
 * gates over the rows of the state. GRU cells refuse it. */
static rush_status spread_over_batch(rush_call *c, rush_cell_kind kind, bool batch_first,
                                     rush_tensor **input) {
  const rush_value *hx = &c->args[1];
  if (hx->kind == RUSH_KIND_LIST && arg_list(c, 1)->n > 0) hx = arg_list(c, 1)->items;
  *input = arg_tensor(c, 0);
  if ((*input)->rank != 2 || kind == RUSH_CELL_GRU || hx->kind != RUSH_KIND_TENSOR) return RUSH_OK;
  const rush_tensor *x = *input, *h = rush_as_tensor(hx);
  if (h->rank != 3) return RUSH_OK;
  const int t = batch_first ? 1 : 0, f = 1 - t, batch = f;
  int64_t sizes[3] = {0, 0, x->sizes[f]}, strides[3] = {0, 0, x->strides[f]};
  sizes[t] = x->sizes[t];
  strides[t] = x->strides[t];
  sizes[batch] = h->sizes[1];
  return tmp_view(c, x, 3, sizes, strides, x->offset, input);
}

/* input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first */
static rush_status run_padded(rush_call *c, rush_cell_kind kind) {
  const bool batch_first = arg_bool(c, 8);
  const rush_value *given = c->args;
  rush_value args[9];
  rush_tensor *input;
  rush_sequence s;
  RUSH_TRY(spread_over_batch(c, kind, batch_first, &input));
  memcpy(args, given, sizeof args);
  args[0] = rush_of_tensor(input);
  c->args = args;
  rush_status st = rush_sequence_padded(c, batch_first, &s);
  if (st == RUSH_OK) st = run(c, kind, 1, &s, batch_first);
  c->args = given;
  return st;
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

/* data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional */
static rush_status run_packed(rush_call *c, rush_cell_kind kind) {
  rush_sequence s;
  RUSH_TRY(rush_sequence_packed(c, arg_tensor(c, 1), &s));
  return run(c, kind, 2, &s, false);
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

/* input, hx, w_ih, w_hh, b_ih, b_hh. Result 0 is the new hidden state, and result 1 the cell state
 * of an LSTM. */
static rush_status run_one(rush_call *c, rush_cell_kind kind, const rush_tensor *first,
                           const rush_tensor *first_c) {
  rush_tensor *input = arg_tensor(c, 0), *h, *state = NULL, *x;
  const rush_cell cell = {
      kind, arg_tensor(c, 2), arg_tensor(c, 3), arg_tensor(c, 4), arg_tensor(c, 5), NULL, NULL};
  const rush_dtype dtype = input->dtype;
  RUSH_CHECK_ARG(rush_is_float(dtype), "the input must have a floating-point dtype, got %s",
                 rush_dtype_name(dtype));
  RUSH_CHECK_ARG(input->rank == 2 && first->rank == 2,
                 "the input and the state must have 2 dimensions, got %d and %d", input->rank,
                 first->rank);
  RUSH_CHECK_ARG(first->sizes[0] == input->sizes[0],
                 "Input batch size %lld doesn't match hidden0 batch size %lld",
                 (long long)input->sizes[0], (long long)first->sizes[0]);
  RUSH_CHECK_ARG(first->dtype == dtype, "the state must be %s, like the input, got %s",
                 rush_dtype_name(dtype), rush_dtype_name(first->dtype));
  RUSH_CHECK_ARG(first_c == NULL || (first_c->dtype == dtype && rush_same_sizes(first_c, first)),
                 "both states of an LSTM must have the same sizes and dtype");
  const int64_t n = input->sizes[0], hidden = first->sizes[1];
  RUSH_TRY(rush_cell_check(c->ctx, &cell, dtype, input->sizes[1], hidden, hidden));
  RUSH_TRY(rush_result(c, 0, dtype, 2, first->sizes, &h));
  RUSH_TRY(rush_tensor_copy(c->heap, h, first));
  if (first_c != NULL) {
    RUSH_TRY(rush_result(c, 1, dtype, 2, first->sizes, &state));
    RUSH_TRY(rush_tensor_copy(c->heap, state, first_c));
  }
  size_t width;
  char *gates, *room;
  RUSH_TRY(tmp_contiguous(c, input, &x));
  if (!rush_mul((size_t)hidden, (size_t)rush_cell_gates(kind), &width) ||
      !rush_mul(width, rush_itemsize(input), &width))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_items(c, n, width, (void **)&gates));
  RUSH_TRY(tmp_items(c, n, width, (void **)&room));
  RUSH_TRY(rush_cell_input(c->heap, &cell, n, rush_data(x), gates));
  return rush_cell_step(c->heap, &cell, n, gates, room, rush_data(h),
                        state ? rush_data(state) : NULL);
}
RUSH_OP(lstm_cell) {
  const rush_list *hx = arg_list(c, 1);
  RUSH_CHECK_ARG(hx->n == 2, "lstm_cell expects two hidden states");
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
