/* Random integers, permutations and samples that match torch 2.6 on the CPU. Follows
 * DistributionTemplates.h (random_from_to_impl), TensorFactories.cpp (randperm_cpu),
 * Distributions.cpp and cpu/MultinomialKernel.cpp. */
#include <math.h>

#include "base/half.h"
#include "blocks/random_fill.h"
#include "blocks/sort_lines.h"
#include "call/define.h"
#include "tensor/layout.h"

/* ---- random_, randint ------------------------------------------------------------------------ */

/* Returns the number of significant bits of a float dtype, including the implicit one. */
static int digits(rush_dtype dtype) {
  return dtype == RUSH_FLOAT64 ? 53 : dtype == RUSH_FLOAT32 ? 24 : dtype == RUSH_FLOAT16 ? 11 : 8;
}
/* A value that rounds up to 2^63, or to infinity, becomes the smallest int, as in PyTorch on
 * x86. */
static int64_t rounded(rush_dtype dtype, int64_t i) {
  const float single = (float)i;
  const double v = dtype == RUSH_FLOAT64   ? (double)i
                   : dtype == RUSH_FLOAT32 ? (double)single
                   : dtype == RUSH_FLOAT16 ? (double)rush_from_float16(rush_to_float16(single))
                                           : (double)rush_from_bfloat16(rush_to_bfloat16(single));
  return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}
/* The sum wraps around if a program asks for the whole range. */
static int64_t plus(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Returns the distance between neighbouring values of the float dtype near i. A bound that rounds
 * to a value outside the range moves by that distance. */
static int64_t step_of(rush_dtype dtype, int64_t i) {
  int n = 0;
  for (uint64_t rest = i < 0 ? 0 - (uint64_t)i : (uint64_t)i; rest >>= 1;) n++;
  return n < digits(dtype) ? 1 : (int64_t)1 << (n - digits(dtype) + 1);
}
static int64_t lower_bound(rush_dtype dtype, int64_t from) {
  const int64_t next = rounded(dtype, plus(from, 1));
  return next < from ? plus(next, step_of(dtype, plus(from, 1))) : from;
}
static int64_t upper_bound(rush_dtype dtype, int64_t to) {
  const int64_t last = rounded(dtype, plus(to, -1));
  return last >= to ? plus(last, -step_of(dtype, plus(to, -1))) : to;
}

static int64_t least_of(rush_dtype dtype) {
  switch (dtype) {
    case RUSH_BOOL:
    case RUSH_UINT8:
      return 0;
    case RUSH_INT8:
      return INT8_MIN;
    case RUSH_INT16:
      return INT16_MIN;
    case RUSH_INT32:
      return INT32_MIN;
    default:
      return INT64_MIN;
  }
}
static int64_t greatest_of(rush_dtype dtype) {
  switch (dtype) {
    case RUSH_BOOL:
      return 1;
    case RUSH_UINT8:
      return UINT8_MAX;
    case RUSH_INT8:
      return INT8_MAX;
    case RUSH_INT16:
      return INT16_MAX;
    case RUSH_INT32:
      return INT32_MAX;
    default:
      return INT64_MAX;
  }
}

/* Returns whether PyTorch draws 64 bits for this dtype if the range requires them. */
static bool is_wide(rush_dtype dtype) {
  return dtype == RUSH_INT64 || (rush_is_float(dtype) && dtype != RUSH_FLOAT16);
}

/* The integers of a range that starts at `from` and has `count` elements (0 means 2^64). */
typedef struct interval {
  uint64_t count;
  int64_t from;
} interval;

static int64_t draw_from(rush_random *random, const interval *range, rush_dtype dtype) {
  if (range->count == 0) return (int64_t)rush_random_64(random);
  const uint64_t drawn =
      is_wide(dtype) && range->count >> 32 ? rush_random_64(random) : rush_random_32(random);
  return (int64_t)(drawn % range->count + (uint64_t)range->from);
}

static void fill_from(rush_call *c, rush_tensor *t, const interval *range) {
  const rush_dtype dtype = t->dtype;
  const rush_tensor *operands[] = {t};
  rush_iter it;
  rush_iter_init(&it, t->rank, t->sizes, 1, operands);
  do {
    for (int64_t i = 0; i < it.size[0] && !rush_should_stop(c->ctx, 8); i++)
      rush_store_int(dtype, it.at[0] + i * it.stride[0][0], draw_from(c->random, range, dtype));
  } while (!c->ctx->stopped && rush_iter_next(&it));
}

/* Draws integers with from <= n < *to. If `to` is NULL, the range includes the dtype's greatest
 * value. */
static rush_status fill_range(rush_call *c, rush_tensor *t, int64_t from, const int64_t *to) {
  const rush_dtype dtype = t->dtype;
  interval range = {0, from};
  if (to == NULL && from == INT64_MIN) { /* all 64 bits */
    RUSH_CHECK_ARG(
        is_wide(dtype),
        "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16");
    fill_from(c, t, &range);
    return RUSH_OK;
  }
  int64_t last = greatest_of(dtype);
  if (to != NULL) {
    RUSH_CHECK_ARG(from < *to,
                   "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                   (long long)from, (long long)*to);
    last = *to - 1;
  } else if (rush_is_float(dtype)) {
    last = (int64_t)1 << digits(dtype);
  }
  if (rush_is_float(dtype)) {
    range.from = lower_bound(dtype, from);
    if (to != NULL) last = upper_bound(dtype, *to) - 1;
    RUSH_CHECK_ARG(
        range.from <= last,
        "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
        "from=%lld >= to=%lld",
        (long long)range.from, (long long)last + 1);
  }
  RUSH_CHECK_ARG(range.from >= least_of(dtype) && range.from <= greatest_of(dtype),
                 "from is out of bounds for %s", rush_dtype_name(dtype));
  RUSH_CHECK_ARG(last >= least_of(dtype) && last <= greatest_of(dtype),
                 "to - 1 is out of bounds for %s", rush_dtype_name(dtype));
  range.count = (uint64_t)last - (uint64_t)range.from + 1;
  fill_from(c, t, &range);
  return RUSH_OK;
}

static rush_status target(rush_call *c, rush_tensor **out) {
  const rush_tensor *self = arg_tensor(c, 0);
  *out = c->inplace;
  if (*out == NULL) return rush_result_like(c, 0, self, self->dtype, out);
  RUSH_TRY(rush_check_write(c->ctx, *out));
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}

/* The default range starts at 0. It ends at the dtype's greatest value or, for floats, at the
 * greatest integer up to which all integers are exact. */
RUSH_OP(random) {
  rush_tensor *out;
  RUSH_TRY(target(c, &out));
  const rush_dtype dtype = out->dtype;
  const uint64_t last =
      rush_is_float(dtype) ? (uint64_t)1 << digits(dtype) : (uint64_t)greatest_of(dtype);
  const interval range = {last + 1, 0};
  fill_from(c, out, &range);
  return RUSH_OK;
}
RUSH_OP(random_from) {
  rush_tensor *out;
  RUSH_TRY(target(c, &out));
  return fill_range(c, out, arg_int(c, 1), arg_is_none(c, 2) ? NULL : &c->args[2].u.i);
}
RUSH_OP(random_to) {
  rush_tensor *out;
  RUSH_TRY(target(c, &out));
  return fill_range(c, out, 0, &c->args[1].u.i);
}

/* `high` is argument `high`; `low` may precede it. The size follows it, and the dtype is argument
 * `dtype_arg`. */
static rush_status randint_of(rush_call *c, uint32_t high, uint32_t dtype_arg) {
  rush_tensor *out;
  RUSH_TRY(rush_result_empty(c, high + 1, dtype_arg, RUSH_FLOAT32, &out));
  return fill_range(c, out, high == 0 ? 0 : arg_int(c, 0), &c->args[high].u.i);
}
RUSH_OP(randint) {
  return randint_of(c, 0, 2);
}
RUSH_OP(randint_generator) {
  return randint_of(c, 0, 3);
}
RUSH_OP(randint_low) {
  return randint_of(c, 1, 3);
}
RUSH_OP(randint_low_generator) {
  return randint_of(c, 1, 4);
}
RUSH_OP(randint_like) {
  rush_tensor *out;
  RUSH_TRY(rush_result_empty_like(c, 2, &out));
  return fill_range(c, out, 0, &c->args[1].u.i);
}
RUSH_OP(randint_like_low) {
  rush_tensor *out;
  RUSH_TRY(rush_result_empty_like(c, 3, &out));
  return fill_range(c, out, arg_int(c, 1), &c->args[2].u.i);
}

/* ---- randperm -------------------------------------------------------------------------------- */

static rush_status randperm_of(rush_call *c, uint32_t dtype_arg) {
  const int64_t n = arg_int(c, 0);
  rush_dtype dtype;
  rush_tensor *out;
  RUSH_CHECK_ARG(n >= 0, "n must be non-negative, got%lld", (long long)n);
  RUSH_TRY(arg_dtype(c, dtype_arg, RUSH_INT64, &dtype));
  RUSH_CHECK_ARG(dtype != RUSH_BOOL, "\"randperm\" not implemented for 'Bool'");
  RUSH_CHECK_ARG(
      n == 0 || n - 1 <= (rush_is_float(dtype) ? (int64_t)1 << digits(dtype) : greatest_of(dtype)),
      "n is too large for result tensor type: '%s'", rush_dtype_torch_name(dtype));
  /* For larger n, PyTorch draws 64 bits per number in another order. */
  RUSH_CHECK(c->ctx, n < UINT32_MAX / 20, RUSH_ERR_UNSUPPORTED,
             "randperm of more than %u numbers is not supported", UINT32_MAX / 20);
  RUSH_TRY(rush_result(c, 0, dtype, 1, &n, &out));
  const size_t item = rush_itemsize(out);
  char *at = rush_data(out), taken[8];
  for (int64_t i = 0; i < n; i++) {
    RUSH_TRY(rush_charge_steps(c->ctx, i, n));
    rush_store_int(dtype, at + (size_t)i * item, i);
  }
  for (int64_t i = 0; i + 1 < n; i++, at += item) {
    RUSH_TRY(rush_charge(c->ctx, 16));
    char *other = at + (size_t)(rush_random_32(c->random) % (uint32_t)(n - i)) * item;
    memcpy(taken, at, item);
    memcpy(at, other, item);
    memcpy(other, taken, item);
  }
  return RUSH_OK;
}
RUSH_OP(randperm) {
  return randperm_of(c, 1);
}
RUSH_OP(randperm_generator) {
  return randperm_of(c, 2);
}

/* ---- multinomial ----------------------------------------------------------------------------- */

/* Rows of probabilities (float32 or float64), and rows for the sampled indices. */
typedef struct samples {
  rush_dtype dtype;
  int64_t rows, categories, wanted;
  const char *from; /* [rows][categories] */
  int64_t *to;      /* [rows][wanted] */
} samples;

static double probability(const samples *s, const char *row, int64_t i) {
  return rush_load_double(s->dtype, row + (size_t)i * rush_dtype_size(s->dtype));
}

/* The sum is computed in the tensor's dtype, as in PyTorch. */
static rush_status check_row(rush_call *c, const samples *s, const char *row) {
  double sum = 0;
  for (int64_t i = 0; i < s->categories; i++) {
    const double p = probability(s, row, i);
    RUSH_TRY(rush_charge_steps(c->ctx, i, s->categories));
    RUSH_CHECK_ARG(p >= 0 && p < INFINITY,
                   "probability tensor contains either `inf`, `nan` or element < 0");
    sum += p;
  }
  RUSH_CHECK_ARG(sum > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
  return RUSH_OK;
}

/* Divides each probability by a number from an exponential distribution. The greatest quotients are
 * the sample. */
static rush_status pick_greatest(rush_call *c, const samples *s, char *q) {
  const size_t item = rush_dtype_size(s->dtype);
  rush_sort_item *ranked;
  RUSH_TRY(tmp_items(c, s->categories, sizeof *ranked, (void **)&ranked));
  for (int64_t r = 0; r < s->rows; r++, q += (size_t)s->categories * item) {
    for (int64_t i = 0; i < s->categories; i++) {
      RUSH_TRY(rush_charge_steps(c->ctx, i, s->categories));
      const double p = probability(s, s->from, r * s->categories + i);
      const double by = probability(s, q, i);
      rush_store_double(s->dtype, q + (size_t)i * item,
                        s->dtype == RUSH_FLOAT32 ? (double)((float)p / (float)by) : p / by);
    }
    rush_sort_keys(c->ctx, s->dtype, q, (int64_t)item, s->categories, true, ranked);
    RUSH_TRY(rush_take_stop(c->ctx));
    rush_top_k(c->ctx, ranked, s->categories, s->wanted, true);
    for (int64_t k = 0; k < s->wanted; k++) {
      RUSH_TRY(rush_charge_steps(c->ctx, k, s->wanted));
      s->to[r * s->wanted + k] = ranked[k].index;
    }
  }
  return RUSH_OK;
}
static rush_status without_replacement(rush_call *c, const samples *s) {
  rush_tensor *drawn, *q;
  RUSH_TRY(rush_tensor_new_like(c->heap, arg_tensor(c, 0), s->dtype, &drawn));
  rush_random_fill_exponential(c, tmp_take(c, drawn), 1);
  RUSH_TRY(tmp_contiguous(c, drawn, &q));
  return pick_greatest(c, s, rush_data(q));
}

/* Looks up each sample in the cumulative sum, which has the tensor's dtype. */
static rush_status with_replacement(rush_call *c, const samples *s) {
  double *sums;
  RUSH_TRY(tmp_items(c, s->categories, sizeof *sums, (void **)&sums));
  const char *row = s->from;
  int64_t *to = s->to;
  for (int64_t r = 0; r < s->rows; r++, row += (size_t)s->categories * rush_dtype_size(s->dtype)) {
    const bool single = s->dtype == RUSH_FLOAT32;
    double sum = 0;
    for (int64_t i = 0; i < s->categories; i++) {
      RUSH_TRY(rush_charge_steps(c->ctx, i, s->categories));
      sum += probability(s, row, i);
      if (single) sum = (double)(float)sum;
      sums[i] = sum;
    }
    for (int64_t i = 0; i < s->categories; i++) {
      RUSH_TRY(rush_charge_steps(c->ctx, i, s->categories));
      sums[i] = single ? (double)((float)sums[i] / (float)sum) : sums[i] / sum;
    }
    sums[s->categories - 1] = 1;
    for (int64_t k = 0; k < s->wanted; k++) {
      const double drawn = rush_random_double(c->random);
      RUSH_TRY(rush_charge(c->ctx, 64));
      int64_t left = 0, right = s->categories;
      while (left < right) {
        const int64_t middle = left + (right - left) / 2;
        if (sums[middle] < drawn)
          left = middle + 1;
        else
          right = middle;
      }
      *to++ = left;
    }
  }
  return RUSH_OK;
}

RUSH_OP(multinomial) {
  rush_tensor *self = arg_tensor(c, 0), *dense, *out;
  const int64_t wanted = arg_int(c, 1);
  const bool replace = arg_bool(c, 2);
  RUSH_CHECK_ARG(self->rank == 1 || self->rank == 2, "prob_dist must be 1 or 2 dim");
  RUSH_CHECK_ARG(rush_is_float(self->dtype),
                 "multinomial only supports floating-point dtypes for input, got: %s",
                 rush_dtype_torch_name(self->dtype));
  const int64_t categories = self->sizes[self->rank - 1];
  RUSH_CHECK_ARG(wanted > 0, "cannot sample n_sample <= 0 samples");
  RUSH_CHECK_ARG(replace || wanted <= categories,
                 "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  RUSH_CHECK_ARG(categories <= 1 << 24, "number of categories cannot exceed 2^24");
  const int64_t rows = self->rank == 2 ? self->sizes[0] : 1, sizes[] = {rows, wanted};
  RUSH_TRY(rush_result(c, 0, RUSH_INT64, self->rank, sizes + 2 - self->rank, &out));
  if (out->numel == 0) return RUSH_OK;
  RUSH_TRY(tmp_contiguous(c, self, &dense));
  const samples s = {self->dtype, rows, categories, wanted, rush_data(dense), rush_data(out)};
  for (int64_t r = 0; r < rows; r++)
    RUSH_TRY(check_row(c, &s, s.from + (size_t)(r * categories) * rush_itemsize(dense)));
  return replace && wanted > 1 ? with_replacement(c, &s) : without_replacement(c, &s);
}
