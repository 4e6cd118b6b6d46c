/* einsum contracts the operands pairwise from the left; each pair is one batched matrix product.
 * Labels are numbers: 0 to 51 stand for the letters, and 52 upwards for the dimensions of `...`. */
#include "blocks/batched_matmul.h"
#include "blocks/shape.h"
#include "call/define.h"

enum { LETTERS = 52, LABELS = LETTERS + RUSH_MAX_RANK };

typedef struct operand {
  rush_tensor t; /* a header of the argument or of a temporary */
  int label[RUSH_MAX_RANK];
  int dots; /* position of `...`, or -1 */
} operand;

typedef struct equation {
  const char *inputs, *arrow; /* arrow: NULL if the output is implicit */
  uint64_t output;            /* set of labels */
  int n_output, order[RUSH_MAX_RANK];
  int n_dots; /* number of dimensions that `...` covers */
} equation;

static int letter(char ch) {
  if (ch >= 'A' && ch <= 'Z') return ch - 'A';
  return ch >= 'a' && ch <= 'z' ? 26 + ch - 'a' : -1;
}

static bool is_dots(const char *p) {
  return p[0] == '.' && p[1] == '.' && p[2] == '.';
}

/* Reads `...` as the labels of all dimensions that have no letter. *n is the number of labels. */
static rush_status read_dots(rush_call *c, const rush_tensor *t, size_t number, int letters,
                             operand *out, int *n, int *n_dots) {
  RUSH_CHECK_ARG(out->dots < 0,
                 "einsum(): found '.' for operand %zu for which an ellipsis was already found",
                 number);
  RUSH_CHECK_ARG(letters <= t->rank,
                 "einsum(): the number of subscripts in the equation (%d) is more than the number "
                 "of dimensions (%d) for operand %zu",
                 letters, t->rank, number);
  out->dots = *n;
  *n_dots = t->rank - letters;
  for (int k = 0; k < *n_dots; k++) out->label[(*n)++] = LABELS - *n_dots + k;
  return RUSH_OK;
}

/* Reads the labels of one operand's subscripts. *p points past them afterwards. */
static rush_status read_operand(rush_call *c, const char **p, const rush_tensor *t, size_t number,
                                operand *out, int *n_dots) {
  int letters = 0, n = 0;
  for (const char *q = *p; *q != '\0' && *q != ',' && *q != '-'; q++) letters += letter(*q) >= 0;
  *n_dots = 0;
  out->t = *t;
  out->dots = -1;
  for (; **p != '\0' && **p != ',' && **p != '-'; ++*p) {
    if (**p == ' ') continue;
    if (is_dots(*p)) {
      RUSH_TRY(read_dots(c, t, number, letters, out, &n, n_dots));
      *p += 2;
      continue;
    }
    RUSH_CHECK_ARG(
        letter(**p) >= 0,
        "einsum(): invalid subscript given at index %zu in the equation string, subscripts "
        "must be in [a-zA-Z]",
        (size_t)(*p - arg_str(c, 0)->bytes));
    RUSH_CHECK_ARG(
        n < t->rank,
        "einsum(): the number of subscripts in the equation (%d) does not match the number "
        "of dimensions (%d) for operand %zu",
        letters, t->rank, number);
    out->label[n++] = letter(**p);
  }
  RUSH_CHECK_ARG(
      n == t->rank,
      "einsum(): the number of subscripts in the equation (%d) does not match the number of "
      "dimensions (%d) for "
      "operand %zu%s",
      letters, t->rank, number, out->dots >= 0 ? "" : " and no ellipsis was given");
  return RUSH_OK;
}

/* A label that occurs twice in one operand selects the diagonal of its dimensions. */
static rush_status take_diagonals(rush_call *c, operand *o, size_t number) {
  for (int d = 0; d < o->t.rank; d++) {
    for (int e = d + 1; e < o->t.rank; e++) {
      if (o->label[d] != o->label[e]) continue;
      RUSH_CHECK_ARG(
          o->t.sizes[d] == o->t.sizes[e],
          "einsum(): subscript is repeated for operand %zu but the sizes don't match, %lld != %lld",
          number, (long long)o->t.sizes[e], (long long)o->t.sizes[d]);
      o->t.strides[d] += o->t.strides[e];
      if (o->t.sizes[e] > 0) o->t.numel /= o->t.sizes[e];
      for (int k = e--; k + 1 < o->t.rank; k++) {
        o->t.sizes[k] = o->t.sizes[k + 1];
        o->t.strides[k] = o->t.strides[k + 1];
        o->label[k] = o->label[k + 1];
      }
      o->t.rank--;
    }
  }
  return RUSH_OK;
}

static rush_status add_output(rush_call *c, equation *eq, int label) {
  RUSH_CHECK_ARG((eq->output >> label & 1) == 0,
                 "einsum(): output subscript appears more than once in the output");
  RUSH_CHECK(c->ctx, eq->n_output < RUSH_MAX_RANK, RUSH_ERR_UNSUPPORTED,
             "einsum: the result exceeds %d dimensions", RUSH_MAX_RANK);
  eq->output |= (uint64_t)1 << label;
  eq->order[eq->n_output++] = label;
  return RUSH_OK;
}

/* Reads the output's labels. An implicit output has the ellipsis, followed by the labels that occur
 * once, in alphabetical order. */
static rush_status read_output(rush_call *c, equation *eq, const int *uses) {
  bool dots = false;
  if (eq->arrow == NULL) {
    for (int k = LABELS - eq->n_dots; k < LABELS; k++) RUSH_TRY(add_output(c, eq, k));
    for (int k = 0; k < LETTERS; k++)
      if (uses[k] == 1) RUSH_TRY(add_output(c, eq, k));
    return RUSH_OK;
  }
  for (const char *p = eq->arrow + 2; *p != '\0'; p++) {
    if (*p == ' ') continue;
    if (is_dots(p)) {
      RUSH_CHECK_ARG(!dots,
                     "einsum(): found '.' for output but an ellipsis (...) was already found");
      dots = true;
      for (int k = LABELS - eq->n_dots; k < LABELS; k++) RUSH_TRY(add_output(c, eq, k));
      p += 2;
      continue;
    }
    RUSH_CHECK_ARG(
        letter(*p) >= 0,
        "einsum(): invalid subscript given at index %zu in the equation string, subscripts "
        "must be in [a-zA-Z]",
        (size_t)(p - arg_str(c, 0)->bytes));
    RUSH_CHECK_ARG(
        uses[letter(*p)] > 0,
        "einsum(): output subscript %c does not appear in the equation for any input operand", *p);
    RUSH_TRY(add_output(c, eq, letter(*p)));
  }
  return RUSH_OK;
}

static rush_status read_equation(rush_call *c, operand *ops, size_t n, equation *eq) {
  int uses[LABELS] = {0};
  const char *p = arg_str(c, 0)->bytes;
  *eq = (equation){.inputs = p, .arrow = strstr(p, "->")};
  for (size_t i = 0; i < n; i++) {
    int dots;
    RUSH_TRY(read_operand(c, &p, rush_as_tensor(&arg_list(c, 1)->items[i]), i, &ops[i], &dots));
    if (dots > eq->n_dots) eq->n_dots = dots;
    for (int d = 0; d < ops[i].t.rank; d++) uses[ops[i].label[d]]++;
    RUSH_TRY(take_diagonals(c, &ops[i], i));
    bool more = *p == ',';
    RUSH_CHECK_ARG(more == (i + 1 < n),
                   "einsum(): %s operands were provided than specified in the equation",
                   more ? "fewer" : "more");
    if (more) p++;
  }
  RUSH_CHECK_ARG(*p == '\0' || p == eq->arrow, "einsum(): found '-' in the equation without '->'");
  return read_output(c, eq, uses);
}

/* ---- Contraction ----------------------------------------------------------------------------- */

static int place_of(const operand *o, int label) {
  for (int d = 0; d < o->t.rank; d++)
    if (o->label[d] == label) return d;
  return -1;
}

static uint64_t labels_of(const operand *o) {
  uint64_t set = 0;
  for (int d = 0; d < o->t.rank; d++) set |= (uint64_t)1 << o->label[d];
  return set;
}

/* Returns the labels whose dimension does not have size 1. */
static uint64_t long_labels_of(const operand *o) {
  uint64_t set = 0;
  for (int d = 0; d < o->t.rank; d++) set |= (uint64_t)(o->t.sizes[d] != 1) << o->label[d];
  return set;
}

typedef struct group {
  int n, label[2 * RUSH_MAX_RANK];
  int64_t size[2 * RUSH_MAX_RANK], total;
} group;

/* Lists the labels of `set`: those of the output first, in its order. Each size is the broadcast
 * size of both operands. */
static rush_status make_group(rush_call *c, const equation *eq, uint64_t set, const operand *a,
                              const operand *b, group *g) {
  *g = (group){.total = 1};
  for (int k = 0; k < eq->n_output; k++)
    if (set >> eq->order[k] & 1) g->label[g->n++] = eq->order[k];
  for (int k = 0; k < LABELS; k++)
    if ((set & ~eq->output) >> k & 1) g->label[g->n++] = k;
  for (int k = 0; k < g->n; k++) {
    int p = place_of(a, g->label[k]), q = place_of(b, g->label[k]);
    int64_t m = p < 0 ? 1 : a->t.sizes[p], n = q < 0 ? 1 : b->t.sizes[q];
    RUSH_CHECK_ARG(
        m == n || m == 1 || n == 1,
        "einsum(): subscript has size %lld for one operand which does not broadcast with "
        "previously seen size %lld",
        (long long)n, (long long)m);
    g->size[k] = m == 1 ? n : m;
    RUSH_CHECK(c->ctx, rush_mul64(g->total, g->size[k], &g->total), RUSH_ERR_NO_MEMORY,
               "the result is too large");
  }
  return RUSH_OK;
}

/* Reshapes the operand to [batch, rows, columns]. Each of the three is the product of one group of
 * dimensions. */
static rush_status as_matrices(rush_call *c, const operand *o, const group *const groups[3],
                               rush_tensor **out) {
  int64_t sizes[3 * RUSH_MAX_RANK], strides[3 * RUSH_MAX_RANK];
  int n = 0;
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < groups[k]->n; i++) {
      int d = place_of(o, groups[k]->label[i]);
      sizes[n] = groups[k]->size[i];
      strides[n] = d < 0 || (o->t.sizes[d] == 1 && sizes[n] != 1) ? 0 : o->t.strides[d];
      n++;
    }
  }
  RUSH_CHECK(c->ctx, n <= RUSH_MAX_RANK, RUSH_ERR_UNSUPPORTED,
             "einsum: a step must have at most %d subscripts, got %d", RUSH_MAX_RANK, n);
  rush_tensor wide = o->t;
  wide.rank = (uint8_t)n;
  memcpy(wide.sizes, sizes, (size_t)n * sizeof *sizes);
  memcpy(wide.strides, strides, (size_t)n * sizeof *strides);
  RUSH_CHECK(c->ctx, rush_numel(n, sizes, &wide.numel), RUSH_ERR_NO_MEMORY,
             "the result is too large");
  const int64_t shape[] = {groups[0]->total, groups[1]->total, groups[2]->total};
  RUSH_TRY(rush_reshape(c->heap, &wide, 3, shape, out));
  tmp_take(c, *out);
  return RUSH_OK;
}

static rush_matrices matrices(const rush_tensor *t, bool turned) {
  return (rush_matrices){.data = rush_data(t),
                         .row = t->strides[turned ? 2 : 1],
                         .col = t->strides[turned ? 1 : 2],
                         .batch = {t->strides[0]}};
}

/* Converts integers to int64, as a sum does. */
static rush_status widen_integers(rush_call *c, operand *o) {
  rush_tensor *wide;
  if (!rush_is_integral(o->t.dtype) || o->t.dtype == RUSH_INT64) return RUSH_OK;
  RUSH_TRY(tmp_new(c, RUSH_INT64, o->t.rank, o->t.sizes, &wide));
  RUSH_TRY(rush_tensor_copy(c->heap, wide, &o->t));
  o->t = *wide;
  return RUSH_OK;
}

/* If the product of a pair has no sum, PyTorch multiplies elementwise, with type promotion. A
 * matrix product does not promote. */
static rush_status promote_pair(rush_call *c, operand *a, operand *b, uint64_t keep) {
  const rush_dtype dtype = rush_promote(a->t.dtype, b->t.dtype);
  RUSH_CHECK_ARG(a->t.dtype == b->t.dtype || (long_labels_of(a) & long_labels_of(b) & ~keep) == 0,
                 "einsum(): expected all operands to have the same dtype");
  operand *const pair[] = {a, b};
  for (int i = 0; i < 2; i++) {
    rush_tensor *cast;
    if (pair[i]->t.dtype == dtype) continue;
    RUSH_TRY(tmp_new(c, dtype, pair[i]->t.rank, pair[i]->t.sizes, &cast));
    RUSH_TRY(rush_tensor_copy(c->heap, cast, &pair[i]->t));
    pair[i]->t = *cast;
  }
  RUSH_CHECK_ARG(dtype != RUSH_BOOL, "\"bmm\" not implemented for 'Bool'");
  return RUSH_OK;
}

/* Replaces a by the product of a and b. The result has the labels of `keep`. */
static rush_status contract(rush_call *c, const equation *eq, operand *a, const operand *given,
                            uint64_t keep) {
  operand other = *given, *b = &other;
  /* PyTorch first sums over the dimensions that only one of the operands has. */
  if (a->t.dtype != b->t.dtype || ((long_labels_of(a) ^ long_labels_of(b)) & ~keep) != 0) {
    RUSH_TRY(widen_integers(c, a));
    RUSH_TRY(widen_integers(c, b));
  }
  RUSH_TRY(promote_pair(c, a, b, keep));
  /* The groups have the order of ATen's sumproduct_pair, which decides the strides of the
   * result. */
  uint64_t all = labels_of(a) | labels_of(b), in_a = long_labels_of(a), in_b = long_labels_of(b);
  group batch, left, right, sum;
  RUSH_TRY(make_group(c, eq, in_a & in_b & keep, a, b, &batch));
  RUSH_TRY(make_group(c, eq, in_a & ~in_b & keep, a, b, &left));
  RUSH_TRY(make_group(c, eq, all & ~in_a & keep, a, b, &right));
  RUSH_TRY(make_group(c, eq, all & ~keep, a, b, &sum));
  RUSH_CHECK(c->ctx, batch.n + left.n + right.n <= RUSH_MAX_RANK, RUSH_ERR_UNSUPPORTED,
             "einsum: an intermediate exceeds %d dimensions", RUSH_MAX_RANK);
  rush_tensor *ma, *mb, *out;
  RUSH_TRY(as_matrices(c, a, (const group *const[]){&batch, &left, &sum}, &ma));
  RUSH_TRY(as_matrices(c, b, (const group *const[]){&batch, &right, &sum}, &mb));
  const group *groups[] = {&batch, &left, &right};
  int64_t sizes[RUSH_MAX_RANK];
  int labels[RUSH_MAX_RANK], n = 0;
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < groups[k]->n; i++)
      labels[n] = groups[k]->label[i], sizes[n++] = groups[k]->size[i];
  RUSH_TRY(tmp_new(c, a->t.dtype, n, sizes, &out));
  if (out->numel > 0) {
    rush_matrices mc = {
        .data = rush_data(out), .row = right.total, .col = 1, .batch = {left.total * right.total}};
    RUSH_TRY(rush_matmul_run(c->heap, a->t.dtype, left.total, right.total, sum.total, 1,
                             &batch.total, matrices(ma, false), matrices(mb, true), mc));
  }
  a->t = *out;
  memcpy(a->label, labels, sizeof labels);
  return RUSH_OK;
}

static rush_status contract_all(rush_call *c, const equation *eq, operand *ops, size_t n) {
  for (size_t i = 1; i < n; i++) {
    uint64_t keep = eq->output;
    for (size_t k = i + 1; k < n; k++) keep |= labels_of(&ops[k]);
    RUSH_TRY(contract(c, eq, &ops[0], &ops[i], keep));
  }
  if ((labels_of(&ops[0]) & ~eq->output) == 0) return RUSH_OK;
  /* A single operand with labels to sum over is multiplied by a tensor of ones. */
  rush_tensor *one;
  RUSH_TRY(widen_integers(c, &ops[0]));
  RUSH_TRY(tmp_new(c, ops[0].t.dtype, 0, NULL, &one));
  rush_store_int(one->dtype, rush_data(one), 1);
  const operand ones = {.t = *one};
  return contract(c, eq, &ops[0], &ones, eq->output);
}

/* ---- Strides of PyTorch's result ------------------------------------------------------------- */

/* An operand as ATen's einsum sees it. It has one dimension per label, those of the output first.
 * The size is 1 for a label that the operand lacks. */
typedef struct seen {
  int64_t size[LABELS], stride[LABELS];
} seen;

/* Lists all labels in this order and returns their number. */
static int order_labels(const equation *eq, const operand *ops, size_t n, int *label) {
  uint64_t all = 0;
  int count = 0;
  for (size_t i = 0; i < n; i++) all |= labels_of(&ops[i]);
  for (int k = 0; k < eq->n_output; k++) label[count++] = eq->order[k];
  for (int k = LETTERS; k < LABELS; k++)
    if ((all & ~eq->output) >> k & 1) label[count++] = k;
  for (int k = 0; k < LETTERS; k++)
    if ((all & ~eq->output) >> k & 1) label[count++] = k;
  return count;
}

/* Computes sizes and strides as unsqueeze does. A missing dimension goes last, or to the place of
 * `...` if another operand has more ellipsis dimensions. */
static void unsqueeze_operand(const operand *o, int n, const int *label, seen *out) {
  for (int k = 0; k < n; k++) {
    const int d = place_of(o, label[k]);
    const bool inside = label[k] >= LETTERS && o->dots >= 0 && o->dots < o->t.rank;
    out->size[k] = d < 0 ? 1 : o->t.sizes[d];
    out->stride[k] = d >= 0   ? o->t.strides[d]
                     : inside ? o->t.sizes[o->dots] * o->t.strides[o->dots]
                              : 1;
  }
}

/* Sets row-major strides for the n dimensions in the order of `dim`. */
static void set_dense_strides(seen *s, int n, const int *dim) {
  int64_t step = 1;
  for (int k = n - 1; k >= 0; k--) {
    s->stride[dim[k]] = step;
    if (s->size[dim[k]] > 1) step *= s->size[dim[k]];
  }
}

static void sum_dims(seen *s, int n, uint64_t dims) {
  int order[LABELS];
  if (dims == 0) return;
  for (int k = 0; k < n; k++) {
    order[k] = k;
    if (dims >> k & 1) s->size[k] = 1;
  }
  set_dense_strides(s, n, order);
}

static rush_tensor tensor_header(const seen *s, int n, const int *dim) {
  rush_tensor t = {.dtype = RUSH_FLOAT32, .rank = (uint8_t)n, .numel = 1};
  for (int k = 0; k < n; k++) {
    t.sizes[k] = s->size[dim[k]];
    t.strides[k] = s->stride[dim[k]];
    t.numel *= t.sizes[k];
  }
  return t;
}

/* Mimics at::mul with TensorIterator's strides. If there are more than RUSH_MAX_RANK dimensions,
 * those of size 1 that the result lacks are skipped. In rare cases PyTorch's order depends on
 * them. */
static void multiply_strides(int n, int n_output, seen *a, const seen *b) {
  int dim[LABELS], kept = 0;
  for (int k = 0; k < n; k++)
    if (n <= RUSH_MAX_RANK || k < n_output || a->size[k] != 1 || b->size[k] != 1) dim[kept++] = k;
  const bool fits = kept <= RUSH_MAX_RANK;
  rush_tensor x, y;
  if (fits) {
    x = tensor_header(a, kept, dim);
    y = tensor_header(b, kept, dim);
  }
  for (int k = 0; k < n; k++) {
    if (a->size[k] == 1) a->size[k] = b->size[k];
    a->stride[k] = 1;
  }
  if (!fits) {
    set_dense_strides(a, kept, dim);
    return;
  }
  const rush_tensor z = tensor_header(a, kept, dim), *const both[] = {&x, &y};
  int64_t strides[RUSH_MAX_RANK];
  rush_strides_of_result(kept, z.sizes, 2, both, strides);
  for (int k = 0; k < kept; k++) a->stride[dim[k]] = strides[k];
}

/* Mimics sumproduct_pair. Its matrix product is row-major, in this order: dimensions of both
 * operands, of a alone, summed dimensions, all others. */
static void contract_strides(int n, seen *a, const seen *b, uint64_t sums) {
  int dim[LABELS], count = 0;
  for (int part = 0; part < 4; part++) {
    for (int k = 0; k < n; k++) {
      const bool in_a = a->size[k] != 1, in_b = b->size[k] != 1;
      const int own = sums >> k & 1 ? 2 : in_a ? !in_b : 3;
      if (own == part) dim[count++] = k;
    }
  }
  for (int k = 0; k < n; k++) {
    if (sums >> k & 1)
      a->size[k] = 1;
    else if (a->size[k] == 1)
      a->size[k] = b->size[k];
  }
  set_dense_strides(a, n, dim);
}

/* Mimics how ATen handles one pair: it decides which dimensions are summed before the product and
 * which within it. `counts` has the number of operands in which each dimension is longer than 1. */
static void take_pair(int n, int n_output, int *counts, seen *a, seen *b) {
  uint64_t in_both = 0, in_a = 0, in_b = 0;
  for (int k = n_output; k < n; k++) {
    const uint64_t bit = (uint64_t)1 << k;
    if (a->size[k] != 1 && b->size[k] != 1) {
      if (--counts[k] == 1) in_both |= bit;
    } else if (counts[k] == 1) {
      if (a->size[k] != 1)
        in_a |= bit;
      else if (b->size[k] != 1)
        in_b |= bit;
    }
    if ((in_both | in_a | in_b) & bit) counts[k] = 0;
  }
  sum_dims(a, n, in_a);
  sum_dims(b, n, in_b);
  if (in_both)
    contract_strides(n, a, b, in_both);
  else
    multiply_strides(n, n_output, a, b);
}

/* Computes the strides of PyTorch's result. */
static void result_strides(const equation *eq, const operand *ops, size_t n_ops, int64_t *strides) {
  int label[LABELS], counts[LABELS] = {0};
  const int n = order_labels(eq, ops, n_ops, label);
  seen a, b;
  for (size_t i = 0; i < n_ops; i++) {
    unsqueeze_operand(&ops[i], n, label, &b);
    for (int k = 0; k < n; k++) counts[k] += b.size[k] != 1;
  }
  unsqueeze_operand(&ops[0], n, label, &a);
  for (size_t i = 1; i < n_ops; i++) {
    unsqueeze_operand(&ops[i], n, label, &b);
    take_pair(n, eq->n_output, counts, &a, &b);
  }
  memcpy(strides, a.stride, (size_t)eq->n_output * sizeof *strides);
  if (n == eq->n_output) return;
  if (n_ops == 1) { /* a sum, whose result is row-major */
    rush_strides_contiguous(eq->n_output, a.size, strides);
    return;
  }
  /* PyTorch removes the summed dimensions by a view. Only the last of them affects the strides. */
  int dim[RUSH_MAX_RANK];
  if (eq->n_output == RUSH_MAX_RANK) return;
  for (int k = 0; k < eq->n_output; k++) dim[k] = k;
  dim[eq->n_output] = n - 1;
  const rush_tensor whole = tensor_header(&a, eq->n_output + 1, dim);
  rush_view_strides(&whole, eq->n_output, whole.sizes, strides);
}

/* Returns the result with its dimensions in the output's order: as a view, or as a copy if the
 * strides of PyTorch's result differ. */
static rush_status return_in_output_order(rush_call *c, const equation *eq, const operand *o,
                                          const int64_t *strides) {
  rush_tensor t = o->t, *out;
  bool same = true;
  t.rank = (uint8_t)eq->n_output;
  for (int k = 0; k < eq->n_output; k++) {
    const int d = place_of(o, eq->order[k]);
    t.sizes[k] = d < 0 ? 1 : o->t.sizes[d];
    t.strides[k] = d < 0 ? 1 : o->t.strides[d];
    same = same && (t.sizes[k] == 1 || t.strides[k] == strides[k]);
  }
  if (same || t.numel == 0) return rush_result_view(c, 0, &t, t.rank, t.sizes, strides, t.offset);
  RUSH_TRY(tmp_new(c, t.dtype, t.rank, t.sizes, &out));
  memcpy(out->strides, strides, sizeof *strides * (size_t)t.rank);
  RUSH_TRY(rush_tensor_copy(c->heap, out, &t));
  return rush_result_view(c, 0, out, t.rank, t.sizes, strides, 0);
}

RUSH_OP(einsum) {
  const rush_list *list = arg_list(c, 1);
  operand *ops;
  equation eq;
  RUSH_CHECK_ARG(list->n > 0, "einsum(): must provide at least one operand");
  RUSH_TRY(tmp_items(c, (int64_t)list->n, sizeof *ops, (void **)&ops));
  RUSH_TRY(read_equation(c, ops, list->n, &eq));
  int64_t strides[RUSH_MAX_RANK];
  result_strides(&eq, ops, list->n, strides);
  RUSH_TRY(contract_all(c, &eq, ops, list->n));
  return return_in_output_order(c, &eq, &ops[0], strides);
}
