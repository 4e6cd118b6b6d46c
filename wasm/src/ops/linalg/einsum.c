/* einsum: pairs of operands from the left, each pair one batched matrix product. Labels are
 * numbers: 0 to 51 for the letters, from 52 on for the dimensions that `...` stands for. */
#include "blocks/matrices.h"
#include "blocks/shape.h"
#include "call/define.h"

enum { LETTERS = 52, LABELS = LETTERS + RUSH_MAX_RANK };

typedef struct operand {
  rush_tensor t; /* a header: of the argument, or of a temporary */
  int label[RUSH_MAX_RANK];
} operand;

typedef struct equation {
  const char *inputs, *arrow; /* arrow: NULL where the output is not given */
  uint64_t output;            /* set of labels */
  int n_output, order[RUSH_MAX_RANK];
  int n_dots; /* dimensions of `...` */
} equation;

static int letter(char ch) {
  if (ch >= 'A' && ch <= 'Z') return ch - 'A';
  return ch >= 'a' && ch <= 'z' ? 26 + ch - 'a' : -1;
}

static bool is_dots(const char *p) {
  return p[0] == '.' && p[1] == '.' && p[2] == '.';
}

/* The labels of one operand's subscripts; *p stands at its end afterwards. */
static rush_status read_operand(rush_call *c, const char **p, const rush_tensor *t, size_t number,
                                operand *out, int *n_dots) {
  int letters = 0, n = 0;
  for (const char *q = *p; *q != '\0' && *q != ',' && *q != '-'; q++) letters += letter(*q) >= 0;
  *n_dots = 0;
  out->t = *t;
  bool dots = false;
  for (; **p != '\0' && **p != ',' && **p != '-'; ++*p) {
    if (**p == ' ') continue;
    if (is_dots(*p)) {
      RUSH_NEED(!dots,
                "einsum(): found '.' for operand %zu for which an ellipsis was already found",
                number);
      RUSH_NEED(letters <= t->rank,
                "einsum(): the number of subscripts in the equation (%d) is more than the number "
                "of dimensions (%d) for operand %zu",
                letters, t->rank, number);
      dots = true;
      *n_dots = t->rank - letters;
      for (int k = 0; k < *n_dots; k++) out->label[n++] = LABELS - *n_dots + k;
      *p += 2;
      continue;
    }
    RUSH_NEED(letter(**p) >= 0,
              "einsum(): invalid subscript given at index %zu in the equation string, subscripts "
              "must be in [a-zA-Z]",
              (size_t)(*p - arg_str(c, 0)->bytes));
    RUSH_NEED(n < t->rank,
              "einsum(): the number of subscripts in the equation (%d) does not match the number "
              "of dimensions (%d) for operand %zu",
              letters, t->rank, number);
    out->label[n++] = letter(**p);
  }
  RUSH_NEED(n == t->rank,
            "einsum(): the number of subscripts in the equation (%d) does not match the number of "
            "dimensions (%d) for "
            "operand %zu%s",
            letters, t->rank, number, dots ? "" : " and no ellipsis was given");
  return RUSH_OK;
}

/* A label twice in one operand means the diagonal of these dimensions. */
static rush_status take_diagonals(rush_call *c, operand *o, size_t number) {
  for (int d = 0; d < o->t.rank; d++) {
    for (int e = d + 1; e < o->t.rank; e++) {
      if (o->label[d] != o->label[e]) continue;
      RUSH_NEED(
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
  RUSH_NEED((eq->output >> label & 1) == 0,
            "einsum(): output subscript appears more than once in the output");
  RUSH_CHECK(c->ctx, eq->n_output < RUSH_MAX_RANK, RUSH_ERR_UNSUPPORTED,
             "einsum: a result of more than %d dimensions", RUSH_MAX_RANK);
  eq->output |= (uint64_t)1 << label;
  eq->order[eq->n_output++] = label;
  return RUSH_OK;
}

/* The output's labels: as given, or those that appear once, in alphabetical order behind the
 * ellipsis. */
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
      RUSH_NEED(!dots, "einsum(): found '.' for output but an ellipsis (...) was already found");
      dots = true;
      for (int k = LABELS - eq->n_dots; k < LABELS; k++) RUSH_TRY(add_output(c, eq, k));
      p += 2;
      continue;
    }
    RUSH_NEED(letter(*p) >= 0,
              "einsum(): invalid subscript given at index %zu in the equation string, subscripts "
              "must be in [a-zA-Z]",
              (size_t)(p - arg_str(c, 0)->bytes));
    RUSH_NEED(uses[letter(*p)] > 0,
              "einsum(): output subscript %c does not appear in the equation for any input operand",
              *p);
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
    RUSH_NEED(more == (i + 1 < n),
              "einsum(): %s operands were provided than specified in the equation",
              more ? "fewer" : "more");
    if (more) p++;
  }
  RUSH_NEED(*p == '\0' || p == eq->arrow, "einsum(): found '-' in the equation without '->'");
  return read_output(c, eq, uses);
}

/* ---- Contracting ----------------------------------------------------------------------------- */

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

/* The labels along which the operand has more (or less) than one element. */
static uint64_t long_labels_of(const operand *o) {
  uint64_t set = 0;
  for (int d = 0; d < o->t.rank; d++) set |= (uint64_t)(o->t.sizes[d] != 1) << o->label[d];
  return set;
}

typedef struct group {
  int n, label[2 * RUSH_MAX_RANK];
  int64_t size[2 * RUSH_MAX_RANK], total;
} group;

/* The labels of `set`, those of the output first and in its order, with the sizes that the two
 * operands agree on. */
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
    RUSH_NEED(m == n || m == 1 || n == 1,
              "einsum(): subscript has size %lld for one operand which does not broadcast with "
              "previously seen size %lld",
              (long long)n, (long long)m);
    g->size[k] = m == 1 ? n : m;
    RUSH_CHECK(c->ctx, rush_mul64(g->total, g->size[k], &g->total), RUSH_ERR_NO_MEMORY,
               "einsum: too large");
  }
  return RUSH_OK;
}

/* The operand as [batch, rows, columns], each the product of a group. */
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
             "einsum: %d subscripts in one step, the most is %d", n, RUSH_MAX_RANK);
  rush_tensor wide = o->t;
  wide.rank = (uint8_t)n;
  memcpy(wide.sizes, sizes, (size_t)n * sizeof *sizes);
  memcpy(wide.strides, strides, (size_t)n * sizeof *strides);
  RUSH_CHECK(c->ctx, rush_numel(n, sizes, &wide.numel), RUSH_ERR_NO_MEMORY, "einsum: too large");
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

/* a becomes the product of a and b with the labels of `keep`. */
static rush_status contract(rush_call *c, const equation *eq, operand *a, const operand *b,
                            uint64_t keep) {
  /* As ATen's sumproduct_pair sorts them, which decides how the result lies in memory. */
  uint64_t all = labels_of(a) | labels_of(b), in_a = long_labels_of(a), in_b = long_labels_of(b);
  group batch, left, right, sum;
  RUSH_TRY(make_group(c, eq, in_a & in_b & keep, a, b, &batch));
  RUSH_TRY(make_group(c, eq, in_a & ~in_b & keep, a, b, &left));
  RUSH_TRY(make_group(c, eq, all & ~in_a & keep, a, b, &right));
  RUSH_TRY(make_group(c, eq, all & ~keep, a, b, &sum));
  RUSH_CHECK(c->ctx, batch.n + left.n + right.n <= RUSH_MAX_RANK, RUSH_ERR_UNSUPPORTED,
             "einsum: more than %d dimensions between two steps", RUSH_MAX_RANK);
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
  /* One operand with labels to sum: the product with ones. */
  rush_tensor *one;
  RUSH_TRY(tmp_new(c, ops[0].t.dtype, 0, NULL, &one));
  rush_store_int(one->dtype, rush_data(one), 1);
  const operand ones = {.t = *one};
  return contract(c, eq, &ops[0], &ones, eq->output);
}

/* The dimensions in the output's order: a view. */
static rush_status give(rush_call *c, const equation *eq, const operand *o) {
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK];
  for (int k = 0; k < eq->n_output; k++) {
    int d = place_of(o, eq->order[k]);
    sizes[k] = d < 0 ? 1 : o->t.sizes[d];
    strides[k] = d < 0 ? 1 : o->t.strides[d];
  }
  return rush_result_view(c, 0, &o->t, eq->n_output, sizes, strides, o->t.offset);
}

RUSH_OP(einsum) {
  const rush_list *list = arg_list(c, 1);
  operand *ops;
  equation eq;
  RUSH_NEED(list->n > 0, "einsum(): must provide at least one operand");
  for (size_t i = 0; i < list->n; i++) {
    RUSH_NEED(rush_as_tensor(&list->items[i])->dtype == rush_as_tensor(&list->items[0])->dtype,
              "einsum(): expected all operands to have the same dtype");
    RUSH_NEED(rush_as_tensor(&list->items[i])->dtype != RUSH_BOOL || list->n == 1,
              "\"bmm\" not implemented for 'Bool'");
  }
  RUSH_TRY(tmp_items(c, (int64_t)list->n, sizeof *ops, (void **)&ops));
  RUSH_TRY(read_equation(c, ops, list->n, &eq));
  RUSH_TRY(contract_all(c, &eq, ops, list->n));
  return give(c, &eq, &ops[0]);
}
