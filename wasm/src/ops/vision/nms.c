/* torchvision's nms: removes boxes that overlap a box with a better score. */
#include "blocks/sort_lines.h"
#include "call/define.h"
#include "tensor/layout.h"

static rush_status check(rush_call *c, const rush_tensor *boxes, const rush_tensor *scores) {
  RUSH_CHECK_ARG(boxes->rank == 2, "boxes should be a 2d tensor, got %dD", boxes->rank);
  RUSH_CHECK_ARG(boxes->sizes[1] == 4, "boxes should have 4 elements in dimension 1, got %lld",
                 (long long)boxes->sizes[1]);
  RUSH_CHECK_ARG(scores->rank == 1, "scores should be a 1d tensor, got %dD", scores->rank);
  RUSH_CHECK_ARG(
      boxes->sizes[0] == scores->sizes[0],
      "boxes and scores should have same number of elements in dimension 0, got %lld and "
      "%lld",
      (long long)boxes->sizes[0], (long long)scores->sizes[0]);
  RUSH_CHECK_ARG(boxes->dtype == scores->dtype, "dets should have the same type as scores");
  const rush_dtype given = rush_is_half(c->narrow) ? c->narrow : boxes->dtype;
  RUSH_CHECK_ARG(rush_is_float(given) && !rush_is_half(given),
                 "\"nms_kernel\" not implemented for '%s'", rush_dtype_torch_name(given));
  return RUSH_OK;
}

#define MAX_OF(a, b) ((a) < (b) ? (b) : (a))
#define MIN_OF(a, b) ((b) < (a) ? (b) : (a))

/* boxes[n][4] are x1, y1, x2, y2. `items` are sorted by score, and the boxes that are kept move to
 * the front. Each round only compares box i with the boxes that are left, so the rounds get
 * shorter. Returns the number of kept boxes, or fewer after a stop request. */
#define NMS(T, f)                                                                                \
  static int64_t nms_##f(rush_ctx *ctx, const T *boxes, double threshold, rush_sort_item *items, \
                         int64_t n) {                                                            \
    for (int64_t i = 0; i < n; i++) {                                                            \
      const T *a = boxes + 4 * items[i].index, area = (a[2] - a[0]) * (a[3] - a[1]);             \
      int64_t left = i + 1;                                                                      \
      if (rush_should_stop(ctx, 4 * (uint64_t)(n - i))) return i;                                \
      for (int64_t j = i + 1; j < n; j++) {                                                      \
        if (rush_stops_at_step(ctx, j)) return i;                                                \
        const T *b = boxes + 4 * items[j].index;                                                 \
        const T width = MIN_OF(a[2], b[2]) - MAX_OF(a[0], b[0]);                                 \
        const T height = MIN_OF(a[3], b[3]) - MAX_OF(a[1], b[1]);                                \
        const T common = MAX_OF(0, width) * MAX_OF(0, height);                                   \
        const T all = area + (b[2] - b[0]) * (b[3] - b[1]) - common;                             \
        if (!((double)(common / all) > threshold)) items[left++] = items[j];                     \
      }                                                                                          \
      n = left;                                                                                  \
    }                                                                                            \
    return n;                                                                                    \
  }
NMS(float, f32)
NMS(double, f64)

/* dets [N, 4], scores [N], iou_threshold. Returns int64 [K], sorted by decreasing score. Equal
 * scores keep their order. */
RUSH_OP(nms) {
  rush_tensor *boxes = arg_tensor(c, 0), *scores = arg_tensor(c, 1), *out;
  rush_sort_item *items;
  RUSH_TRY(check(c, boxes, scores));
  const int64_t n = scores->numel;
  RUSH_TRY(tmp_contiguous(c, boxes, &boxes));
  RUSH_TRY(tmp_items(c, n, 2 * sizeof *items, (void **)&items));
  if (n > 0)
    rush_sort_keys(c->ctx, scores->dtype, rush_data(scores),
                   scores->strides[0] * (int64_t)rush_itemsize(scores), n, true, items);
  rush_sort_stable(c->ctx, items, items + n, n);
  RUSH_TRY(rush_take_stop(c->ctx));
  const int64_t kept = boxes->dtype == RUSH_FLOAT64
                           ? nms_f64(c->ctx, rush_data(boxes), arg_float(c, 2), items, n)
                           : nms_f32(c->ctx, rush_data(boxes), arg_float(c, 2), items, n);
  RUSH_TRY(rush_take_stop(c->ctx));
  RUSH_TRY(rush_result(c, 0, RUSH_INT64, 1, &kept, &out));
  int64_t *places = rush_data(out);
  for (int64_t i = 0; i < kept; i++) {
    RUSH_TRY(rush_charge_steps(c->ctx, i, kept));
    places[i] = items[i].index;
  }
  return RUSH_OK;
}
