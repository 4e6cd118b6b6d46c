/* Text of values and tensors. Follows operator<< of aten/src/ATen/core/ivalue.cpp and
 * aten/src/ATen/core/Formatting.cpp, including their quirks. */
#include <math.h>

#include "blocks/values.h"
#include "tensor/layout.h"

/* ---- Tensors --------------------------------------------------------------------------------- */

/* The formatting state of a C++ stream. */
typedef struct stream {
  rush_text *text;
  char form; /* 'g', 'e' or 'f' */
  int precision, width;
} stream;

enum { LINE = 80 };

static void put_number(const stream *s, double v) {
  const char *forms[] = {"%*.*g", "%*.*e", "%*.*f"};
  const char *form = forms[s->form == 'g' ? 0 : s->form == 'e' ? 1 : 2];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  rush_text_add(s->text, form, s->width, s->precision, v != v ? NAN : v); /* never "-nan" */
#pragma GCC diagnostic pop
}

/* Chooses format and width for n numbers. Returns the scale by which they are divided. */
static double choose_format(stream *s, const double *p, int64_t n) {
  bool ints = true;
  double least = 1, most = 1;
  int64_t first = 0;
  for (int64_t i = 0; i < n && ints; i++) ints = !isfinite(p[i]) || p[i] == ceil(p[i]);
  while (first < n && !isfinite(p[first])) first++;
  if (first < n) {
    least = most = fabs(p[first]);
    for (int64_t i = first; i < n; i++) {
      double z = fabs(p[i]);
      if (!isfinite(z)) continue;
      if (z < least) least = z;
      if (p[i] > most) most = z; /* keeps the sign, as ATen does */
    }
    least = least != 0 ? floor(log10(least)) + 1 : 1;
    most = most != 0 ? floor(log10(most)) + 1 : 1;
  }
  s->width = 11;
  if (ints && most <= 9) {
    s->width = (int)most + 1;
    s->form = 'g'; /* the precision does not change */
    return 1;
  }
  s->precision = 4;
  s->form = 'e';
  if (ints) return 1;
  if (most - least > 4) {
    if (fabs(most) > 99 || fabs(least) > 99) s->width = 12;
    return 1;
  }
  s->form = 'f';
  s->width = most > 5 || most <= 0 ? 7 : (int)most + 6;
  return most > 5 || most < 0 ? pow(10, most - 1) : 1;
}

static void indent(const stream *s, int by) {
  rush_text_add(s->text, "%*s", by, "");
}

static void put_scale(const stream *s, double scale) {
  rush_text_add(s->text, "%.*g *\n", s->precision, scale);
}

static void put_matrix(stream *s, const double *p, int64_t rows, int64_t columns, int by) {
  double scale = choose_format(s, p, rows * columns);
  int64_t per_line = (LINE - by) / (s->width + 1);
  indent(s, by);
  for (int64_t from = 0, to; from < columns && !s->text->failed; from = to) {
    to = from + per_line <= columns ? from + per_line : columns;
    if (per_line < columns) {
      rush_text_add(s->text, "%sColumns %lld to %lld", from != 0 ? "\n" : "", (long long)(from + 1),
                    (long long)to);
      indent(s, by);
    }
    if (scale != 1) {
      put_scale(s, scale);
      indent(s, by);
    }
    for (int64_t r = 0; r < rows && !s->text->failed; r++) {
      for (int64_t k = from; k < to; k++) {
        put_number(s, p[r * columns + k] / scale);
        rush_text_bytes(s->text, k + 1 < to ? " " : "\n", 1);
      }
      if (r + 1 < rows) indent(s, by + (scale != 1));
    }
  }
}

static void put_matrices(stream *s, const rush_tensor *t, const double *p) {
  int outer = t->rank - 2;
  int64_t rows = t->sizes[outer], columns = t->sizes[outer + 1], counter[RUSH_MAX_RANK] = {0};
  for (bool start = true;; start = false) {
    int64_t at = 0;
    for (int d = 0; d < outer; d++) at = at * t->sizes[d] + counter[d];
    rush_text_add(s->text, "%s(", start ? "" : "\n");
    for (int d = 0; d < outer; d++) rush_text_add(s->text, "%lld,", (long long)(counter[d] + 1));
    rush_text_add(s->text, ".,.) = \n");
    put_matrix(s, p + at * rows * columns, rows, columns, 1);
    int d = 0; /* the first dimension varies fastest */
    while (d < outer && ++counter[d] >= t->sizes[d]) counter[d++] = 0;
    if (d == outer || s->text->failed) return;
  }
}

static rush_status show_tensor(rush_heap *heap, rush_text *text, const rush_tensor *t) {
  rush_tensor *numbers;
  stream s = {text, 'g', 6, 0};
  RUSH_TRY(rush_tensor_new(heap, RUSH_FLOAT64, t->rank, t->sizes, &numbers));
  rush_status st = rush_tensor_copy(heap, numbers, t);
  const double *p = rush_data(numbers);
  if (st == RUSH_OK && t->rank == 0) {
    put_number(&s, p[0]);
    rush_text_bytes(text, "\n", 1);
  } else if (st == RUSH_OK && t->numel > 0 && t->rank == 1) {
    double scale = choose_format(&s, p, t->numel);
    if (scale != 1) put_scale(&s, scale);
    for (int64_t i = 0; i < t->numel && !text->failed; i++) {
      put_number(&s, p[i] / scale);
      rush_text_bytes(text, "\n", 1);
    }
  } else if (st == RUSH_OK && t->numel > 0 && t->rank == 2) {
    put_matrix(&s, p, t->sizes[0], t->sizes[1], 0);
  } else if (st == RUSH_OK && t->numel > 0) {
    put_matrices(&s, t, p);
  }
  rush_tensor_drop(heap, numbers);
  rush_text_add(text, "[ CPU%sType{", rush_dtype_torch_name(t->dtype));
  for (int d = 0; d < t->rank; d++)
    rush_text_add(text, "%s%lld", d > 0 ? "," : "", (long long)t->sizes[d]);
  rush_text_add(text, "} ]");
  return st;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void show_float(rush_text *text, double v) {
  bool whole = v >= -9223372036854775808.0 && v < 9223372036854775808.0 && (double)(int64_t)v == v;
  if (whole)
    rush_text_add(text, "%lld.", (long long)v);
  else if (v != v)
    rush_text_add(text, "nan");
  else
    rush_text_add(text, "%.17g", v);
}

static rush_status show(rush_heap *heap, rush_text *text, int depth, const rush_value *v);

static rush_status show_items(rush_heap *heap, rush_text *text, int depth, const rush_list *list,
                              const char *brackets) {
  if (depth == 0) return rush_fail_depth(heap->ctx);
  rush_text_bytes(text, brackets, 1);
  for (size_t i = 0; i < list->n && !text->failed; i++) {
    bool value = list->object.kind == RUSH_KIND_DICT && i % 2 == 1;
    if (i > 0) rush_text_add(text, value ? ": " : ", ");
    RUSH_TRY(show(heap, text, depth - 1, &list->items[i]));
  }
  if (list->object.kind == RUSH_KIND_TUPLE && list->n == 1) rush_text_bytes(text, ",", 1);
  rush_text_bytes(text, brackets + 1, 1);
  return RUSH_OK;
}

/* Shows "Enum<Mode.ADD>" for "__torch__.net.Mode.ADD", like IValue's operator<<. */
static void show_enum(rush_text *text, const rush_str *qualified) {
  size_t begin = qualified->size;
  for (int dots = 0; begin > 0; begin--) {
    if (qualified->bytes[begin - 1] == '.' && ++dots == 2) break;
  }
  rush_text_bytes(text, "Enum<", 5);
  rush_text_bytes(text, qualified->bytes + begin, qualified->size - begin);
  rush_text_bytes(text, ">", 1);
}

static void show_complex(rush_text *text, const rush_complex *z) {
  show_float(text, z->re);
  rush_text_add(text, signbit(z->im) ? "" : "+");
  show_float(text, z->im);
  rush_text_add(text, "j");
}

/* `depth` is the remaining nesting depth. */
static rush_status show(rush_heap *heap, rush_text *text, int depth, const rush_value *v) {
  switch (v->kind) {
    case RUSH_KIND_NONE:
      rush_text_add(text, "None");
      return RUSH_OK;
    case RUSH_KIND_TENSOR:
      return show_tensor(heap, text, v->u.ref);
    case RUSH_KIND_INT:
      rush_text_add(text, "%lld", (long long)v->u.i);
      return RUSH_OK;
    case RUSH_KIND_BOOL:
      rush_text_add(text, v->u.i ? "True" : "False");
      return RUSH_OK;
    case RUSH_KIND_FLOAT:
      show_float(text, v->u.f);
      return RUSH_OK;
    case RUSH_KIND_COMPLEX:
      show_complex(text, v->u.ref);
      return RUSH_OK;
    case RUSH_KIND_STR:
    case RUSH_KIND_DEVICE:
      rush_text_bytes(text, rush_as_str(v)->bytes, rush_as_str(v)->size);
      return RUSH_OK;
    case RUSH_KIND_LIST:
      return show_items(heap, text, depth, rush_as_list(v), "[]");
    case RUSH_KIND_TUPLE:
      return show_items(heap, text, depth, rush_as_list(v), "()");
    case RUSH_KIND_DICT:
      return show_items(heap, text, depth, rush_as_list(v), "{}");
    case RUSH_KIND_ENUM:
      show_enum(text, rush_as_str(rush_as_list(v)->items));
      return RUSH_OK;
    default:
      rush_text_add(text, "<%s>", rush_kind_name(v->kind));
      return RUSH_OK;
  }
}

rush_status rush_repr(rush_heap *heap, rush_text *text, const rush_value *v) {
  return show(heap, text, RUSH_MAX_DEPTH, v);
}
