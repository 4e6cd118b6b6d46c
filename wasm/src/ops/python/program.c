/* Operators of programs that do not compute: text, printing, exceptions, types and attributes. */
#include <math.h>

#include "blocks/values.h"
#include "call/define.h"
#include "model/model.h"

/* ---- Text ------------------------------------------------------------------------------------ */

RUSH_OP(str) {
  rush_text text = {.ctx = c->ctx};
  rush_status st = rush_repr(c->heap, &text, &c->args[0]);
  rush_status end = rush_str_of_text(c->heap, &text, &c->results[0]);
  return st != RUSH_OK ? st : end;
}

static rush_status fill_format(rush_call *c, rush_text *text) {
  RUSH_CHECK_ARG(c->n_args > 0 && c->args[0].kind == RUSH_KIND_STR,
                 "format: the first argument must be a string");
  const char *at = arg_str(c, 0)->bytes;
  for (uint32_t used = 1;; used++) {
    const char *hole = strstr(at, "{}");
    if (hole == NULL) break;
    rush_text_bytes(text, at, (size_t)(hole - at));
    RUSH_CHECK_ARG(used < c->n_args, "Too few arguments for format string: %s",
                   arg_str(c, 0)->bytes);
    RUSH_TRY(rush_repr(c->heap, text, &c->args[used]));
    at = hole + 2;
  }
  rush_text_add(text, "%s", at);
  return RUSH_OK;
}

RUSH_OP(format) {
  rush_text text = {.ctx = c->ctx};
  rush_status st = fill_format(c, &text);
  rush_status end = rush_str_of_text(c->heap, &text, &c->results[0]);
  return st != RUSH_OK ? st : end;
}

static rush_status one_percent(rush_call *c, rush_text *text, char key, const rush_value *v) {
  bool number = v->kind == RUSH_KIND_INT || v->kind == RUSH_KIND_FLOAT || v->kind == RUSH_KIND_BOOL;
  double d = v->kind == RUSH_KIND_FLOAT ? v->u.f : (double)v->u.i;
  switch (key) {
    case 's':
      return rush_repr(c->heap, text, v);
    case 'd':
    case 'i':
      RUSH_CHECK_ARG(number, "%%%c requires a number for formatting, but got %s", key,
                     rush_kind_name(v->kind));
      rush_text_add(text, "%lld",
                    v->kind == RUSH_KIND_FLOAT ? (long long)(int)(fabs(d) < 2147483648.0 ? d : 0)
                                               : (long long)v->u.i);
      return RUSH_OK;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
      RUSH_CHECK_ARG(number, "%%%c requires a number for formatting, but got %s", key,
                     rush_kind_name(v->kind));
      if (v->kind != RUSH_KIND_FLOAT) d = (double)(float)v->u.i;
      rush_text_add(text, key == 'e' ? "%e" : key == 'E' ? "%E" : key == 'f' ? "%f" : "%F", d);
      return RUSH_OK;
    case 'c':
      if (v->kind == RUSH_KIND_INT) {
        char byte = (char)(uint8_t)v->u.i;
        rush_text_bytes(text, &byte, 1);
        return RUSH_OK;
      }
      RUSH_CHECK_ARG(v->kind == RUSH_KIND_STR && rush_as_str(v)->size == 1,
                     "%%c requires an int or char for formatting, but got %s",
                     rush_kind_name(v->kind));
      return rush_repr(c->heap, text, v);
    default:
      return rush_fail(c->ctx, RUSH_ERR_BAD_ARGUMENT,
                       "The specifier %%%c is not supported in TorchScript format strings", key);
  }
}

static rush_status fill_percent(rush_call *c, rush_text *text) {
  RUSH_CHECK_ARG(c->n_args == 2 && c->args[0].kind == RUSH_KIND_STR,
                 "percentFormat takes a string and its arguments");
  const rush_value *given = &c->args[1];
  size_t n = 1, used = 0;
  if (given->kind == RUSH_KIND_TUPLE) {
    n = rush_as_list(given)->n;
    given = rush_as_list(given)->items;
  }
  for (const char *at = arg_str(c, 0)->bytes; *at != '\0'; at++) {
    if (*at != '%') {
      rush_text_bytes(text, at, 1);
      continue;
    }
    at++;
    RUSH_CHECK_ARG(*at != '\0', "Incomplete format specifier");
    if (*at == '%') {
      rush_text_bytes(text, at, 1);
      continue;
    }
    RUSH_CHECK_ARG(used < n, "Too few arguments for format string");
    RUSH_TRY(one_percent(c, text, *at, &given[used++]));
  }
  RUSH_CHECK_ARG(used == n, "Too many arguments for format string");
  return RUSH_OK;
}

RUSH_OP(percent_format) {
  rush_text text = {.ctx = c->ctx};
  rush_status st = fill_percent(c, &text);
  rush_status end = rush_str_of_text(c->heap, &text, &c->results[0]);
  return st != RUSH_OK ? st : end;
}

/* print(...) passes one line to the host's print function. */
RUSH_OP(print) {
  rush_text text = {.ctx = c->ctx};
  rush_status st = RUSH_OK;
  for (uint32_t i = 0; i < c->n_args && st == RUSH_OK; i++) {
    if (i > 0) rush_text_bytes(&text, " ", 1);
    st = rush_repr(c->heap, &text, &c->args[i]);
  }
  rush_text_bytes(&text, "\n", 1);
  if (st == RUSH_OK) st = rush_text_status(&text);
  if (st == RUSH_OK) rush_print(c->ctx, text.data, text.size);
  rush_release(c->ctx, text.data, text.capacity);
  return st;
}

/* ---- Exceptions ------------------------------------------------------------------------------ */

/* msg, cls. The class is part of PyTorch's text only if the program names one. */
RUSH_OP(raise) {
  const char *class = c->n_args > 1 && !arg_is_none(c, 1) ? arg_str(c, 1)->bytes : "";
  const char *message = arg_str(c, 0)->bytes;
  return rush_fail(c->ctx, RUSH_ERR_RAISED, "%s%s%s", class,
                   class[0] != '\0' && message[0] != '\0' ? ": " : "", message);
}

RUSH_OP(assert_scalar) {
  RUSH_CHECK(c->ctx, arg_scalar_double(c, 0) != 0, RUSH_ERR_RAISED, "%s", arg_str(c, 1)->bytes);
  return RUSH_OK;
}

/* _assert_async and _assert_tensor: a tensor that must be true, and the message if it is false. */
RUSH_OP(assert_tensor) {
  const rush_tensor *t = arg_tensor(c, 0);
  RUSH_CHECK_ARG(t->numel == 1, "Boolean value of Tensor with %s is ambiguous",
                 t->numel == 0 ? "no values" : "more than one value");
  uint8_t truth;
  rush_convert(RUSH_BOOL, &truth, t->dtype, rush_data(t), 1);
  RUSH_CHECK(c->ctx, truth, RUSH_ERR_RAISED, "%s",
             c->n_args > 1 ? arg_str(c, 1)->bytes
                           : "Expected Tensor with single nonzero value, but got zero");
  return RUSH_OK;
}

/* _unwrap_optional and similar operators */
RUSH_OP(unwrap_optional) {
  RUSH_CHECK_ARG(!arg_is_none(c, 0), "Unwrapping null optional");
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}

RUSH_OP(keep) {
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}

RUSH_OP(if_then_else) {
  ret_retained(c, 0, &c->args[arg_bool(c, 0) ? 1 : 2]);
  return RUSH_OK;
}

/* ---- Types ----------------------------------------------------------------------------------- */

/* The exporter's form of prim::isinstance: a value, and an empty list whose type names the types to
 * test for. */
RUSH_OP(isinstance) {
  const rush_model *m = c->model;
  RUSH_CHECK_ARG(c->n_args == 2 && c->args[1].kind == RUSH_KIND_LIST,
                 "isinstance must get a value and a list");
  uint32_t list = arg_list(c, 1)->type;
  RUSH_CHECK_ARG(list < m->n_types && m->types[list].kind == RUSH_TYPE_LIST,
                 "isinstance: the types must be a list");
  const rush_file_type *asked = m->types + m->lists[m->types[list].list];
  RUSH_CHECK_ARG(asked->kind == RUSH_TYPE_TUPLE, "isinstance: the types must be a tuple");
  bool is = false;
  for (uint32_t k = 0; k < asked->n && !is; k++)
    is = rush_value_fits(c->ctx, m, m->lists[asked->list + k], &c->args[0]);
  ret_bool(c, 0, is);
  return RUSH_OK;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static rush_status find_attribute(rush_call *c, rush_value **out) {
  const int64_t slot = arg_int(c, 0);
  RUSH_CHECK_ARG(slot >= 0 && slot < c->model->n_attributes, "the model has no attribute %lld",
                 (long long)slot);
  *out = c->attributes + slot;
  return RUSH_OK;
}

RUSH_OP(get_attr) {
  rush_value *v;
  RUSH_TRY(find_attribute(c, &v));
  ret_retained(c, 0, v);
  return RUSH_OK;
}

RUSH_OP(set_attr) {
  rush_value *v;
  RUSH_TRY(find_attribute(c, &v));
  rush_assign(c->heap, v, rush_value_retained(c->args[1]));
  return RUSH_OK;
}
