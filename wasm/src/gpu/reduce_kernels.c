/* Rows that reduce lines: sums, means, extremes and their places. */
#include "gpu/images.h"
#include "gpu/lines.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
/* Sums of sums of 64 elements, whose errors do not grow with the length of a line. */
static const char sums[] = WGSL(
  var s = 0.0;
  for (var j = l; j < n; j += 4096u) {
    var some = 0.0;
    for (var i = j; i < min(n, j + 4096u); i += 64u) { some += in0[at + i * step]; }
    s += some;
  }
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
/* The variance; its root if word(17u) is 1; the mean if it is 2, by Welford's rules for NaN. */
static const char variance[] = WGSL(
  var s = 0.0;
  for (var j = l; j < n; j += 64u) { s += in0[at + j * step] - in0[at]; }
  let mean = in0[at] + sum_of(l, s) / f32(n);
  s = 0.0;
  for (var j = l; j < n; j += 64u) { let d = in0[at + j * step] - mean; s = fma(d, d, s); }
  let v = sum_of(l, s) * number(12u);
  if (l == 0u) {
    let other = select(sqrt_(v), select(mean, nan(), isnan(v)), word(17u) == 2u);
    out[line] = select(v, other, word(17u) > 0u);
  }
}
);
static const char logarithms[] = WGSL(
  var m = -inf();
  for (var j = l; j < n; j += 64u) { m = larger(m, in0[at + j * step]); }
  m = largest_of(l, m);
  let base = select(m, 0.0, is_odd(m) && !isnan(m));
  var s = 0.0;
  for (var j = l; j < n; j += 64u) { s += exp_(in0[at + j * step] - base); }
  s = sum_of(l, s);
  if (l == 0u) { out[line] = base + log_(s); }
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

/* The dimensions that a reduction makes one or removes, as bits. */
typedef struct dims {
  uint32_t mask;
  bool keeps;
} dims;

static bool is_reduced(dims r, int d) {
  return (r.mask >> d & 1) != 0;
}

/* Reads dimensions from a list and from keepdim. */
static bool read_dims(rush_call *c, const rush_tensor *x, uint32_t list, uint32_t keeps, dims *r) {
  r->keeps = arg_bool(c, keeps);
  return arg_dims_mask(c, list, x->rank, &r->mask) == RUSH_OK && r->mask != 0;
}

static bool can_reduce(const rush_tensor *x) {
  return rush_gpu_is_plain(x) && x->numel > 0 && x->rank > 0;
}

static bool is_float_or_none(const rush_call *c, uint32_t dtype) {
  return c->n_args <= dtype || arg_is_none(c, dtype) || arg_int(c, dtype) == RUSH_FLOAT32;
}

static uint32_t count_reduced(const rush_tensor *x, dims r) {
  uint32_t n = 1;
  for (int d = 0; d < x->rank; d++)
    if (is_reduced(r, d)) n *= (uint32_t)x->sizes[d];
  return n;
}

/* Copies the elements into lines that follow each other. */
static rush_status copy_lines(rush_gpu *g, rush_call *c, const rush_tensor *x, dims r,
                              rush_tensor **out) {
  rush_tensor view = *x;
  int rank = 0;
  for (int last = 0; last < 2; last++) {
    for (int d = 0; d < x->rank; d++) {
      if (is_reduced(r, d) != (last == 1)) continue;
      view.sizes[rank] = x->sizes[d];
      view.strides[rank++] = x->strides[d];
    }
  }
  RUSH_TRY(rush_gpu_temporary(g, c, rank, view.sizes, out));
  return rush_gpu_copy(g, c, *out, &view);
}

/* Sets the lines of a kernel, whose elements are in *out: in the tensor itself, if it is row-major
 * and its reduced dimensions follow each other. */
static rush_status set_lines(rush_gpu *g, rush_call *c, rush_gpu_lines *k, rush_tensor *x, dims r,
                             rush_tensor **out) {
  const int first = __builtin_ctz(r.mask), last = 31 - __builtin_clz(r.mask);
  k->n = count_reduced(x, r);
  k->lines = (uint32_t)x->numel / k->n;
  k->step = 1;
  *out = x;
  if (!rush_is_contiguous(x) ||
      r.mask >> first != (uint32_t)((UINT64_C(1) << (last - first + 1)) - 1))
    return copy_lines(g, c, x, r, out);
  for (int d = last + 1; d < x->rank; d++) k->step *= (uint32_t)x->sizes[d];
  return RUSH_OK;
}

static rush_status reduce_lines(rush_gpu *g, rush_call *c, rush_gpu_lines *k, dims r,
                                const rush_tensor *lines, uint32_t result) {
  const rush_tensor *x = arg_tensor(c, 0);
  int64_t sizes[RUSH_MAX_RANK];
  rush_tensor *out;
  int rank = 0;
  for (int d = 0; d < x->rank; d++) {
    if (!is_reduced(r, d))
      sizes[rank++] = x->sizes[d];
    else if (r.keeps)
      sizes[rank++] = 1;
  }
  const rush_dtype dtype = k->writes_words ? RUSH_INT64 : RUSH_FLOAT32;
  RUSH_TRY(rush_gpu_tensor(g, c->heap, dtype, rank, sizes, NULL, &out));
  ret_tensor(c, result, out);
  return rush_gpu_run_lines(g, c, k, lines, out);
}

/* Reduces dimensions of argument 0 to result 0, and with a second kernel to result 1. Without a
 * factor, `number` of the first is 1 over the elements of a line. */
static rush_status reduce_to(rush_gpu *g, rush_call *c, rush_gpu_lines *k, dims r,
                             rush_gpu_lines *second) {
  rush_tensor *lines;
  RUSH_TRY(set_lines(g, c, k, arg_tensor(c, 0), r, &lines));
  if (k->number == 0) k->number = 1 / (float)k->n;
  RUSH_TRY(reduce_lines(g, c, k, r, lines, 0));
  if (!second) return RUSH_OK;
  second->n = k->n, second->lines = k->lines, second->step = k->step;
  return reduce_lines(g, c, second, r, lines, 1);
}

/* Reduces the dimensions that argument `at` lists. Argument at + 1 is keepdim, and at + 2, if there
 * is one, a dtype. */
static bool reduce(rush_gpu *g, rush_call *c, rush_gpu_lines *k, uint32_t at, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  dims r;
  if (!can_reduce(x) || !read_dims(c, x, at, at + 1, &r) || !is_float_or_none(c, at + 2))
    return false;
  *st = reduce_to(g, c, k, r, NULL);
  return true;
}

/* Returns the kernel of 's' sum, 'm' mean, 'h' amax, 'l' amin. */
static rush_gpu_lines kernel_of(int what) {
  const bool adds = what == 's' || what == 'm';
  rush_gpu_lines k = {.name = adds ? 'a' : 'x', .text = {adds ? sums : extremes}};
  k.number = what == 'm' ? 0 : what == 'l' ? -1 : 1;
  return k;
}

bool rush_gpu_reduce(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  rush_gpu_lines k = kernel_of(row->number);
  return reduce(g, c, &k, 1, st);
}

static uint32_t all_of(const rush_tensor *x) {
  return (1u << x->rank) - 1;
}

/* Does the same for all elements, if only the device has them. Argument 1 may be a dtype. */
bool rush_gpu_reduce_all(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  rush_gpu_lines k = kernel_of(row->number);
  if (!rush_gpu_only_there(x) || !can_reduce(x) || !is_float_or_none(c, 1)) return false;
  *st = reduce_to(g, c, &k, (dims){.mask = all_of(x)}, NULL);
  return true;
}

/* Norms of the order 2, which is argument 1. */
bool rush_gpu_norm(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  rush_gpu_lines k = {.name = '2', .text = {roots}, .number = 1};
  (void)row;
  if (arg_is_none(c, 1) || c->args[1].kind == RUSH_KIND_COMPLEX || arg_scalar_double(c, 1) != 2)
    return false;
  return reduce(g, c, &k, 2, st);
}

bool rush_gpu_logsumexp(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  rush_gpu_lines k = {.name = 'e', .text = {logarithms}, .number = 1};
  int64_t list[RUSH_MAX_RANK];
  int n;
  (void)row;
  /* PyTorch refuses no dimensions. */
  if (arg_ints(c, 1, RUSH_MAX_RANK, list, &n) != RUSH_OK || n == 0) return false;
  return reduce(g, c, &k, 1, st);
}

/* var and std, with the mean as result 1 if there is one. The arguments are dim, `correction` or
 * whether it is 1, and keepdim. number: 1 for std. */
bool rush_gpu_variance(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  rush_gpu_lines k = {.name = 'v', .text = {variance}, .words = {(uint32_t)row->number}};
  dims r;
  if (!can_reduce(x) || !read_dims(c, x, 1, 3, &r)) return false;
  double correction = 1;
  if (c->args[2].kind == RUSH_KIND_BOOL)
    correction = arg_bool(c, 2);
  else if (!arg_is_none(c, 2))
    correction = arg_scalar_double(c, 2);
  const double n = count_reduced(x, r);
  if (!(n > correction)) return false;
  k.number = (float)(1 / (n - correction));
  rush_gpu_lines mean = k;
  mean.words[0] = 2;
  *st = reduce_to(g, c, &k, r, c->n_results == 2 ? &mean : NULL);
  return true;
}

static rush_gpu_lines places_of(int sign) {
  return (rush_gpu_lines){.name = 'i',
                          .text = {places},
                          .functions = wins,
                          .writes_words = true,
                          .number = (float)sign};
}

/* number: 1 for argmax, -1 for argmin. The arguments are dim and keepdim. */
bool rush_gpu_find_extreme(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  rush_gpu_lines k = places_of(row->number);
  if (!can_reduce(x)) return false;
  dims r = {.mask = all_of(x), .keeps = arg_bool(c, 2)};
  if (!arg_is_none(c, 1) && !read_dims(c, x, 1, 2, &r)) return false;
  *st = reduce_to(g, c, &k, r, NULL);
  return true;
}

/* Does the same with the values as result 0. */
bool rush_gpu_take_extreme(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  rush_gpu_lines values = kernel_of(row->number == 1 ? 'h' : 'l'), k = places_of(row->number);
  dims r;
  if (!can_reduce(x) || !read_dims(c, x, 1, 2, &r)) return false;
  *st = reduce_to(g, c, &values, r, &k);
  return true;
}

bool rush_gpu_adaptive_avg_pool(rush_gpu *g, rush_call *c, const rush_gpu_row *row,
                                rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  int64_t size[RUSH_MAX_RANK];
  int n;
  (void)row;
  if (arg_ints(c, 1, RUSH_MAX_RANK, size, &n) != RUSH_OK || n < 1 || n > 2) return false;
  if (n == 1) size[1] = size[0];
  if (size[0] != 1 || size[1] != 1 || rush_gpu_is_channels_last(x))
    return rush_gpu_average_parts(g, c, size, st);
  if (!can_reduce(x) || x->rank != 4) return false;
  rush_gpu_lines k = kernel_of('m');
  *st = reduce_to(g, c, &k, (dims){.mask = 1u << 2 | 1u << 3, .keeps = true}, NULL);
  return true;
}
