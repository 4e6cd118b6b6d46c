#include "blocks/subtensor.h"

rush_status rush_subtensor_select(const rush_call *c, uint32_t at, const rush_tensor *t,
                                  rush_tensor *part) {
  char text[RUSH_SHAPE_TEXT];
  int64_t index = arg_int(c, at + 1);
  int dim;
  RUSH_CHECK(c->ctx, t->rank > 0, RUSH_ERR_BAD_ARGUMENT,
             "select() cannot be applied to a 0-dim tensor.");
  RUSH_TRY(arg_dim(c, at, t->rank, &dim));
  int64_t size = t->sizes[dim];
  RUSH_CHECK(c->ctx, index >= -size && index < size, RUSH_ERR_BAD_ARGUMENT,
             "select(): index %lld out of range for tensor of size %s at dimension %d",
             (long long)index, rush_shape_text(t->rank, t->sizes, text), dim);
  *part = *t;
  part->rank = (uint8_t)(t->rank - 1);
  part->numel = t->numel / size;
  part->offset += (index < 0 ? index + size : index) * t->strides[dim];
  for (int d = dim; d < part->rank; d++)
    part->sizes[d] = t->sizes[d + 1], part->strides[d] = t->strides[d + 1];
  return RUSH_OK;
}

rush_status rush_subtensor_slice(const rush_call *c, uint32_t at, const rush_tensor *t,
                                 rush_tensor *part) {
  int dim;
  RUSH_CHECK(c->ctx, t->rank > 0, RUSH_ERR_BAD_ARGUMENT,
             "slice() cannot be applied to a 0-dim tensor.");
  RUSH_TRY(arg_dim(c, at, t->rank, &dim));
  int64_t size = t->sizes[dim], step = arg_int(c, at + 3), stride;
  int64_t start = arg_is_none(c, at + 1) ? 0 : arg_int(c, at + 1);
  int64_t end = arg_is_none(c, at + 2) ? INT64_MAX : arg_int(c, at + 2);
  RUSH_CHECK(c->ctx, step > 0, RUSH_ERR_BAD_ARGUMENT, "slice step must be positive");
  start = rush_clamp_index(start, size);
  end = rush_clamp_index(end, size);
  *part = *t;
  part->sizes[dim] = end > start ? (end - start - 1) / step + 1 : 0;
  part->numel = size > 0 ? t->numel / size * part->sizes[dim] : 0;
  part->offset += start * t->strides[dim];
  if (rush_mul64(t->strides[dim], step, &stride))
    part->strides[dim] = stride; /* on overflow there is at most one element */
  return RUSH_OK;
}

rush_status rush_subtensor_diagonal(const rush_call *c, uint32_t at, const rush_tensor *t,
                                    rush_tensor *part) {
  int64_t by = arg_int(c, at);
  int a, b, rank = 0;
  RUSH_TRY(arg_dim(c, at + 1, t->rank, &a));
  RUSH_TRY(arg_dim(c, at + 2, t->rank, &b));
  RUSH_CHECK(c->ctx, a != b, RUSH_ERR_BAD_ARGUMENT,
             "diagonal dimensions cannot be identical %lld, %lld", (long long)arg_int(c, at + 1),
             (long long)arg_int(c, at + 2));
  int64_t rows = t->sizes[a], columns = t->sizes[b];
  int64_t n = by >= 0 ? (columns < by ? 0 : columns - by) : (by < -rows ? 0 : rows + by);
  if (by >= 0 && n > rows) n = rows;
  if (by < 0 && n > columns) n = columns;
  *part = *t;
  if (n > 0) part->offset += by >= 0 ? by * t->strides[b] : -by * t->strides[a];
  part->numel = n;
  for (int d = 0; d < t->rank; d++) {
    if (d == a || d == b) continue;
    part->sizes[rank] = t->sizes[d];
    part->strides[rank++] = t->strides[d];
    part->numel *= t->sizes[d];
  }
  part->sizes[rank] = n;
  part->strides[rank++] = t->strides[a] + t->strides[b];
  part->rank = (uint8_t)rank;
  return RUSH_OK;
}
