/* Rows that reduce lines: sums, means, extremes and their places. */
#include "gpu/lines.h"
#include "tensor/layout.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
static const char sums[] = WGSL(
  var s = 0.0;
  for (var j = l; j < n; j += 64u) { s += in0[at + j * step]; }
  s = sum_of(l, s);
  if (l == 0u) { out[line] = s * number(12u); }
}
);
/* The square of a single number may be out of range, and PyTorch takes none of it. */
static const char roots[] = WGSL(
  var s = 0.0;
  for (var j = l; j < n; j += 64u) { let v = in0[at + j * step]; s = fma(v, v, s); }
  s = sum_of(l, s);
  let only = bitcast<f32>(bitcast<u32>(in0[at]) & 0x7fffffffu);
  if (l == 0u) { out[line] = select(sqrt_(s), only, n == 1u); }
}
);
static const char extremes[] = WGSL(
  let sign = number(12u);
  var m = -inf();
  for (var j = l; j < n; j += 64u) { m = larger(m, sign * in0[at + j * step]); }
  m = largest_of(l, m);
  if (l == 0u) { out[line] = sign * m; }
}
);
/* The first of equal elements wins, and NaN wins over numbers, as in PyTorch. */
static const char wins[] = WGSL(
var<workgroup> place: array<u32, 64>;
fn wins(a: f32, i: u32, b: f32, j: u32) -> bool {
  if (isnan(a) != isnan(b)) { return isnan(a); }
  if (isnan(a) || a == b) { return i < j; }
  return a > b;
}
);
static const char places[] = WGSL(
  let sign = number(12u);
  var m = sign * in0[at + min(l, n - 1u) * step];
  var k = min(l, n - 1u);
  for (var j = l + 64u; j < n; j += 64u) {
    let v = sign * in0[at + j * step];
    if (wins(v, j, m, k)) { m = v; k = j; }
  }
  part[l] = m;
  place[l] = k;
  workgroupBarrier();
  for (var h = 32u; h > 0u; h = h / 2u) {
    if (l < h && wins(part[l + h], place[l + h], part[l], place[l])) {
      part[l] = part[l + h];
      place[l] = place[l + h];
    }
    workgroupBarrier();
  }
  if (l == 0u) { out[2u * line] = place[0]; out[2u * line + 1u] = 0u; }
}
);
/* clang-format on */

/* Returns whether the dimensions of a mask follow each other, and stores the first and the last. */
static bool is_range(uint32_t mask, int *first, int *last) {
  if (mask == 0) return false;
  *first = __builtin_ctz(mask);
  *last = 31 - __builtin_clz(mask);
  return mask >> *first == (uint32_t)((1ull << (*last - *first + 1)) - 1);
}

static int reduced_sizes(const rush_tensor *x, int first, int last, bool keeps, int64_t *sizes) {
  int rank = 0;
  for (int d = 0; d < x->rank; d++) {
    if (d < first || d > last)
      sizes[rank++] = x->sizes[d];
    else if (keeps)
      sizes[rank++] = 1;
  }
  return rank;
}

static bool can_reduce(const rush_tensor *x) {
  return rush_gpu_is_plain(x) && x->numel > 0 && x->rank > 0 && rush_is_contiguous(x);
}

static void set_lines(rush_gpu_lines *k, const rush_tensor *x, int first, int last) {
  k->n = k->step = 1;
  for (int d = first; d <= last; d++) k->n *= (uint32_t)x->sizes[d];
  for (int d = last + 1; d < x->rank; d++) k->step *= (uint32_t)x->sizes[d];
  k->lines = (uint32_t)x->numel / k->n;
}

/* Reduces the dimensions that argument `at` lists. Argument at + 1 is keepdim, and at + 2, if there
 * is one, a dtype. Without a factor, `number` is 1 over the elements of a line. */
static bool reduce(rush_gpu *g, rush_call *c, rush_gpu_lines *k, uint32_t at, rush_status *st) {
  rush_tensor *x = arg_tensor(c, 0);
  int64_t sizes[RUSH_MAX_RANK];
  uint32_t mask;
  int first, last;
  if (!can_reduce(x) || arg_dims_mask(c, at, x->rank, &mask) != RUSH_OK ||
      !is_range(mask, &first, &last) ||
      (c->n_args > at + 2 && !arg_is_none(c, at + 2) && arg_int(c, at + 2) != RUSH_FLOAT32))
    return false;
  set_lines(k, x, first, last);
  if (k->number == 0) k->number = 1 / (float)k->n;
  const int rank = reduced_sizes(x, first, last, arg_bool(c, at + 1), sizes);
  *st = rush_gpu_result(g, c, rank, sizes, NULL);
  if (*st == RUSH_OK) *st = rush_gpu_run_lines(g, c, k, x, rush_as_tensor(c->results));
  return true;
}

/* number: 's' sum, 'm' mean, 'h' amax, 'l' amin. */
bool rush_gpu_reduce(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const bool adds = row->number == 's' || row->number == 'm';
  rush_gpu_lines k = {.name = adds ? 'a' : 'x', .text = {adds ? sums : extremes}};
  k.number = row->number == 'm' ? 0 : row->number == 'l' ? -1 : 1;
  return reduce(g, c, &k, 1, st);
}

/* Norms of the order 2, which is argument 1. */
bool rush_gpu_norm(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  rush_gpu_lines k = {.name = '2', .text = {roots}, .number = 1};
  (void)row;
  if (arg_is_none(c, 1) || c->args[1].kind == RUSH_KIND_COMPLEX || arg_scalar_double(c, 1) != 2)
    return false;
  return reduce(g, c, &k, 2, st);
}

/* number: 1 for argmax, -1 for argmin. The arguments are dim and keepdim. */
bool rush_gpu_find_extreme(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  rush_tensor *x = arg_tensor(c, 0), *out;
  int64_t sizes[RUSH_MAX_RANK];
  if (!can_reduce(x)) return false;
  int first = 0, last = x->rank - 1;
  if (!arg_is_none(c, 1)) {
    if (arg_dim(c, 1, x->rank, &first) != RUSH_OK) return false;
    last = first;
  }
  rush_gpu_lines k = {.name = 'i',
                      .text = {places},
                      .functions = wins,
                      .writes_words = true,
                      .number = (float)row->number};
  set_lines(&k, x, first, last);
  const int rank = reduced_sizes(x, first, last, arg_bool(c, 2), sizes);
  *st = rush_gpu_tensor(g, c->heap, RUSH_INT64, rank, sizes, NULL, &out);
  if (*st != RUSH_OK) return true;
  ret_tensor(c, 0, out);
  *st = rush_gpu_run_lines(g, c, &k, x, out);
  return true;
}

bool rush_gpu_adaptive_avg_pool(rush_gpu *g, rush_call *c, const rush_gpu_row *row,
                                rush_status *st) {
  rush_tensor *x = arg_tensor(c, 0);
  int64_t size[RUSH_MAX_RANK], sizes[RUSH_MAX_RANK];
  int n;
  (void)row;
  if (arg_ints(c, 1, RUSH_MAX_RANK, size, &n) != RUSH_OK || n < 1 || n > 2) return false;
  if (n == 1) size[1] = size[0];
  if (size[0] != 1 || size[1] != 1) return rush_gpu_average_parts(g, c, size, st);
  if (!can_reduce(x) || x->rank != 4 || rush_suggest_format(x) != RUSH_FORMAT_CONTIGUOUS)
    return false;
  rush_gpu_lines k = {.name = 'a', .text = {sums}};
  set_lines(&k, x, 2, 3);
  k.number = 1 / (float)k.n;
  *st = rush_gpu_result(g, c, reduced_sizes(x, 2, 3, true, sizes), sizes, NULL);
  if (*st == RUSH_OK) *st = rush_gpu_run_lines(g, c, &k, x, rush_as_tensor(c->results));
  return true;
}
