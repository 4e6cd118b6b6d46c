/* Conversion between padded and packed sequences; follows PackedSequence.cpp. A padded sequence is
 * [steps][batch][features], or [batch][steps][features] with batch_first. A packed sequence holds
 * the rows that are not padding, step by step. */
#include "blocks/elements/fill.h"
#include "call/define.h"

/* Returns t as [steps][batch][...] without a copy. */
static rush_status steps_first(rush_call *c, const rush_tensor *t, bool batch_first,
                               rush_tensor **out) {
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK];
  for (int d = 0; d < t->rank; d++) {
    const int from = batch_first && d < 2 ? 1 - d : d;
    sizes[d] = t->sizes[from];
    strides[d] = t->strides[from];
  }
  return rush_tensor_new_view(c->heap, t, t->rank, sizes, strides, t->offset, out);
}

/* Returns rows [0, n) of one step, as a header that holds no reference. */
static rush_tensor rows_of_step(const rush_tensor *padded, int64_t step, int64_t n) {
  rush_tensor part = *padded;
  part.rank--;
  part.offset += step * padded->strides[0];
  part.numel = padded->numel / (padded->sizes[0] * padded->sizes[1]) * n;
  for (int d = 0; d < part.rank; d++) {
    part.sizes[d] = padded->sizes[d + 1];
    part.strides[d] = padded->strides[d + 1];
  }
  part.sizes[0] = n;
  return part;
}
/* Returns n rows starting at `at`, as a header that holds no reference. */
static rush_tensor rows_of(const rush_tensor *packed, int64_t at, int64_t n) {
  rush_tensor part = *packed;
  part.offset += at * packed->strides[0];
  part.numel = packed->numel / packed->sizes[0] * n;
  part.sizes[0] = n;
  return part;
}

static bool is_flat_int64(const rush_tensor *t) {
  return t->rank == 1 && t->dtype == RUSH_INT64 && t->numel > 0 && rush_is_contiguous(t);
}

/* Checks the lengths of the sequences, and adds them. */
static rush_status sum_lengths(rush_call *c, const int64_t *length, int64_t batch, int64_t most,
                               int64_t *rows) {
  *rows = 0;
  for (int64_t b = 0; b < batch; b++) {
    RUSH_TRY(rush_charge(c->ctx, 4));
    RUSH_CHECK_ARG(
        length[b] > 0,
        "Length of all samples has to be greater than 0, but found an element in 'lengths' "
        "that is <= 0");
    RUSH_CHECK_ARG(
        b == 0 || length[b] <= length[b - 1],
        "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True.");
    RUSH_CHECK_ARG(length[b] <= most,
                   "a length must be at most %lld, the steps of the sequence, got %lld",
                   (long long)most, (long long)length[b]);
    *rows += length[b];
  }
  return RUSH_OK;
}

/* input, lengths, batch_first */
RUSH_OP(pack_padded_sequence) {
  const rush_tensor *input = arg_tensor(c, 0), *lengths = arg_tensor(c, 1);
  RUSH_CHECK_ARG(input->numel > 0, "Cannot pack empty tensors.");
  RUSH_CHECK_ARG(input->rank >= 2, "a padded sequence must have at least 2 dimensions, got %d",
                 input->rank);
  RUSH_CHECK_ARG(is_flat_int64(lengths), "lengths must be a flat tensor of int64");
  const bool batch_first = arg_bool(c, 2);
  const int64_t *length = rush_data(lengths);
  const int64_t batch = input->sizes[batch_first ? 0 : 1], steps = length[0];
  RUSH_CHECK_ARG(
      lengths->numel == batch,
      "Expected `len(lengths)` to be equal to batch_size, but got %lld (batch_size=%lld)",
      (long long)lengths->numel, (long long)batch);
  int64_t sizes[RUSH_MAX_RANK], rows;
  RUSH_TRY(sum_lengths(c, length, batch, input->sizes[batch_first ? 1 : 0], &rows));
  rush_tensor *data, *counts, *padded;
  sizes[0] = rows;
  for (int d = 2; d < input->rank; d++) sizes[d - 1] = input->sizes[d];
  RUSH_TRY(rush_result(c, 0, input->dtype, input->rank - 1, sizes, &data));
  RUSH_TRY(rush_result(c, 1, RUSH_INT64, 1, &steps, &counts));
  RUSH_TRY(steps_first(c, input, batch_first, &padded));
  tmp_take(c, padded);
  int64_t at = 0, alive = batch, *count = rush_data(counts);
  for (int64_t t = 0; t < steps; at += alive, t++) {
    while (length[alive - 1] <= t) alive--;
    count[t] = alive;
    rush_tensor to = rows_of(data, at, alive);
    const rush_tensor from = rows_of_step(padded, t, alive);
    RUSH_TRY(rush_tensor_copy(c->heap, &to, &from));
  }
  return RUSH_OK;
}

static rush_status check_counts(rush_call *c, const rush_tensor *counts, int64_t most) {
  const int64_t *count = rush_data(counts);
  int64_t rows = 0;
  for (int64_t t = 0; t < counts->numel; t++) {
    RUSH_TRY(rush_charge(c->ctx, 4));
    RUSH_CHECK_ARG(count[t] > 0 && (t == 0 || count[t] <= count[t - 1]) && count[t] <= most - rows,
                   "batch_sizes must be positive, must not increase, and must add up to the rows");
    rows += count[t];
  }
  return RUSH_OK;
}

/* data, batch_sizes, batch_first, padding_value, total_length */
RUSH_OP(pad_packed_sequence) {
  rush_tensor *data = arg_tensor(c, 0), *out, *lengths, *padded;
  const rush_tensor *counts = arg_tensor(c, 1);
  const bool batch_first = arg_bool(c, 2);
  RUSH_CHECK_ARG(is_flat_int64(counts) && data->rank >= 1 && data->rank < RUSH_MAX_RANK,
                 "batch_sizes must be a flat tensor of int64");
  const int64_t *count = rush_data(counts), batch = count[0];
  const int64_t total = arg_int(c, 4) > 0 ? arg_int(c, 4) : counts->numel;
  RUSH_CHECK_ARG(
      total >= counts->numel,
      "Expected total_length to be at least the length of the longest sequence in input, but "
      "got total_length=%lld and max sequence length being %lld",
      (long long)total, (long long)counts->numel);
  int64_t sizes[RUSH_MAX_RANK];
  RUSH_TRY(check_counts(c, counts, data->sizes[0]));
  /* The steps come first in memory and the result is transposed, which gives PyTorch's strides. */
  sizes[0] = total;
  sizes[1] = batch;
  for (int d = 1; d < data->rank; d++) sizes[d + 1] = data->sizes[d];
  RUSH_TRY(arg_check_number(c, 3, data->dtype));
  RUSH_TRY(tmp_new(c, data->dtype, data->rank + 1, sizes, &padded));
  rush_fill(c->ctx, padded, &c->args[3]);
  int64_t at = 0;
  for (int64_t t = 0; t < counts->numel; at += count[t], t++) {
    rush_tensor to = rows_of_step(padded, t, count[t]);
    const rush_tensor from = rows_of(data, at, count[t]);
    RUSH_TRY(rush_tensor_copy(c->heap, &to, &from));
  }
  RUSH_TRY(steps_first(c, padded, batch_first, &out));
  ret_tensor(c, 0, out);
  RUSH_TRY(rush_result(c, 1, RUSH_INT64, 1, &batch, &lengths));
  int64_t *length = rush_data(lengths);
  RUSH_TRY(rush_set_bytes(c->ctx, length, 0, (size_t)batch * sizeof *length));
  for (int64_t t = 0; t < counts->numel; t++) {
    RUSH_TRY(rush_charge(c->ctx, 4));
    for (int64_t b = 0; b < count[t] && !rush_stops_at_step(c->ctx, b); b++) length[b]++;
  }
  return RUSH_OK;
}
