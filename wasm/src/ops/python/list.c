/* Lists and tuples: construction, unpacking, and Python's list methods. */
#include "blocks/values.h"
#include "call/define.h"

static uint32_t result_type(const rush_call *c) {
  return c->result_types ? c->result_types[0] : RUSH_NONE;
}

static rush_status return_list(rush_call *c, const rush_value *items, size_t n) {
  return rush_new_list(c->heap, RUSH_KIND_LIST, result_type(c), items, n, &c->results[0]);
}
static void return_retained(rush_call *c, const rush_value *v) {
  ret_retained(c, 0, v);
}

/* ---- Construction and unpacking -------------------------------------------------------------- */

RUSH_OP(list_construct) {
  return return_list(c, c->args, c->n_args);
}

RUSH_OP(tuple_construct) {
  return rush_new_list(c->heap, RUSH_KIND_TUPLE, result_type(c), c->args, c->n_args,
                       &c->results[0]);
}

static rush_status unpack(rush_call *c, const rush_list *list) {
  for (uint32_t i = 0; i < c->n_results; i++) ret_retained(c, i, &list->items[i]);
  return RUSH_OK;
}

RUSH_OP(list_unpack) {
  RUSH_CHECK_ARG(c->n_args == 1 && c->args[0].kind == RUSH_KIND_LIST, "ListUnpack takes one list");
  const rush_list *list = arg_list(c, 0);
  RUSH_CHECK_ARG(list->n == c->n_results, "Expected %u elements in a list but found %zu",
                 c->n_results, list->n);
  return unpack(c, list);
}

RUSH_OP(tuple_unpack) {
  RUSH_CHECK_ARG(c->n_args == 1 && c->args[0].kind == RUSH_KIND_TUPLE,
                 "TupleUnpack takes one tuple");
  const rush_list *list = arg_list(c, 0);
  RUSH_CHECK_ARG(list->n == c->n_results, "Expected a tuple of %u elements but found %zu",
                 c->n_results, list->n);
  return unpack(c, list);
}

/* Resolves an index, counting from the end if it is negative. Returns false if it is out of
 * range. */
static bool at_index(int64_t index, size_t n, size_t *out) {
  if (index < 0) index += (int64_t)n;
  *out = (size_t)index;
  return index >= 0 && index < (int64_t)n;
}

RUSH_OP(tuple_index) {
  size_t i;
  RUSH_CHECK_ARG(c->args[0].kind == RUSH_KIND_TUPLE, "TupleIndex takes a tuple");
  RUSH_CHECK_ARG(at_index(arg_int(c, 1), arg_list(c, 0)->n, &i), "Tuple index out of range");
  return_retained(c, &arg_list(c, 0)->items[i]);
  return RUSH_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

RUSH_OP(list_len) {
  ret_int(c, 0, (int64_t)arg_list(c, 0)->n);
  return RUSH_OK;
}

RUSH_OP(list_getitem) {
  size_t i;
  RUSH_CHECK_ARG(at_index(arg_int(c, 1), arg_list(c, 0)->n, &i), "list index out of range");
  return_retained(c, &arg_list(c, 0)->items[i]);
  return RUSH_OK;
}

/* Sets *at to the position of the value, or to list->n if it is missing. */
static rush_status find(const rush_call *c, const rush_list *list, const rush_value *v,
                        size_t *at) {
  return rush_values_find(c->ctx, list->items, list->n, 1, v, at);
}

RUSH_OP(list_contains) {
  size_t i;
  RUSH_TRY(find(c, arg_list(c, 0), &c->args[1], &i));
  ret_bool(c, 0, i < arg_list(c, 0)->n);
  return RUSH_OK;
}

RUSH_OP(list_index) {
  size_t i;
  RUSH_TRY(find(c, arg_list(c, 0), &c->args[1], &i));
  if (i < arg_list(c, 0)->n) {
    ret_int(c, 0, (int64_t)i);
    return RUSH_OK;
  }
  rush_text text = {.ctx = c->ctx};
  rush_status st = rush_repr(c->heap, &text, &c->args[1]);
  if (st == RUSH_OK) st = rush_text_status(&text);
  if (st == RUSH_OK)
    st = rush_fail(c->ctx, RUSH_ERR_BAD_ARGUMENT, "'%s' is not in list",
                   text.data != NULL ? text.data : "");
  rush_release(c->ctx, text.data, text.capacity);
  return st;
}

RUSH_OP(list_count) {
  const rush_list *list = arg_list(c, 0);
  int64_t n = 0;
  for (size_t i = 0; i < list->n; i++) {
    bool same;
    RUSH_TRY(rush_values_equal(c->ctx, &list->items[i], &c->args[1], &same));
    n += same;
  }
  ret_int(c, 0, n);
  return RUSH_OK;
}

RUSH_OP(list_copy) {
  return return_list(c, arg_list(c, 0)->items, arg_list(c, 0)->n);
}

/* Appends one value and counts the work, because a program can repeat this any number of times. */
static rush_status push(rush_call *c, rush_list *to, rush_value v) {
  RUSH_TRY(rush_charge(c->ctx, 4));
  return rush_list_push(c->heap, to, v);
}

static rush_status push_times(rush_call *c, rush_list *to, const rush_value *items, size_t n,
                              int64_t times) {
  for (int64_t k = 0; k < times && n > 0; k++)
    for (size_t i = 0; i < n; i++) RUSH_TRY(push(c, to, items[i]));
  return RUSH_OK;
}

RUSH_OP(list_add) {
  RUSH_TRY(rush_op_list_copy(c));
  return push_times(c, rush_as_list(&c->results[0]), arg_list(c, 1)->items, arg_list(c, 1)->n, 1);
}

/* mul.left_t and mul.right_ */
RUSH_OP(list_mul) {
  uint32_t at = c->args[0].kind == RUSH_KIND_LIST ? 0 : 1;
  RUSH_TRY(return_list(c, NULL, 0));
  return push_times(c, rush_as_list(&c->results[0]), arg_list(c, at)->items, arg_list(c, at)->n,
                    arg_int(c, 1 - at));
}

/* Clamps the range and counts from the end, like Python's slice.indices. */
static rush_status slice_range(rush_call *c, int64_t size, int64_t *start, int64_t *end,
                               int64_t *step) {
  *step = arg_int(c, 3);
  RUSH_CHECK_ARG(*step != 0, "List slice should have non-zero step");
  int64_t least = *step < 0 ? -1 : 0, most = *step < 0 ? size - 1 : size;
  *start = arg_is_none(c, 1) ? (*step < 0 ? most : least) : arg_int(c, 1);
  *end = arg_is_none(c, 2) ? (*step < 0 ? least : most) : arg_int(c, 2);
  if (!arg_is_none(c, 1) && *start < 0) *start += size;
  if (!arg_is_none(c, 2) && *end < 0) *end += size;
  *start = *start < least ? least : *start > most ? most : *start;
  *end = *end < least ? least : *end > most ? most : *end;
  if (*step > size) *step = size + 1; /* keeps the sums below from overflowing */
  if (*step < -size) *step = -size - 1;
  return RUSH_OK;
}

RUSH_OP(list_slice) {
  const rush_list *list = arg_list(c, 0);
  int64_t at, end, step;
  RUSH_TRY(slice_range(c, (int64_t)list->n, &at, &end, &step));
  RUSH_TRY(return_list(c, NULL, 0));
  for (; step > 0 ? at < end : at > end; at += step)
    RUSH_TRY(push(c, rush_as_list(&c->results[0]), list->items[at]));
  return RUSH_OK;
}

/* Characters are bytes, as in libtorch. */
RUSH_OP(str_slice) {
  const rush_str *s = arg_str(c, 0);
  int64_t at, end, step;
  rush_text text = {.ctx = c->ctx};
  RUSH_TRY(slice_range(c, (int64_t)s->size, &at, &end, &step));
  for (int64_t i = 0; (step > 0 ? at < end : at > end) && !rush_stops_at_step(c->ctx, i);
       i++, at += step)
    rush_text_bytes(&text, s->bytes + at, 1);
  return rush_str_of_text(c->heap, &text, &c->results[0]);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static rush_list *self(const rush_call *c) {
  return rush_as_list(&c->args[0]);
}

RUSH_OP(list_append) {
  RUSH_TRY(rush_list_add(c->heap, self(c), c->args[1]));
  if (c->n_results > 0) return_retained(c, &c->args[0]);
  return RUSH_OK;
}

/* extend, and +=, which returns the list */
RUSH_OP(list_extend) {
  size_t n = arg_list(c, 1)->n; /* a list may be extended by itself */
  for (size_t i = 0; i < n; i++) {
    RUSH_TRY(rush_charge(c->ctx, 4));
    RUSH_TRY(rush_list_add(c->heap, self(c), arg_list(c, 1)->items[i]));
  }
  if (c->n_results > 0) return_retained(c, &c->args[0]);
  return RUSH_OK;
}

/* Removes all items, and counts the work. */
static rush_status clear(rush_call *c, rush_list *list) {
  while (list->n > 0) {
    RUSH_TRY(rush_charge(c->ctx, 4));
    rush_drop(c->heap, &list->items[--list->n]);
  }
  return RUSH_OK;
}

/* *= */
RUSH_OP(list_mul_self) {
  rush_list *list = self(c);
  int64_t times = arg_int(c, 1);
  size_t n = list->n;
  for (int64_t k = 1; k < times && n > 0; k++)
    for (size_t i = 0; i < n; i++) RUSH_TRY(push(c, list, list->items[i]));
  if (times <= 0) RUSH_TRY(clear(c, list));
  return_retained(c, &c->args[0]);
  return RUSH_OK;
}

/* Moves an item to another place, and those between by one place. They are moved in pieces, and
 * none is lost after a stop request. */
static rush_status move_item(rush_call *c, rush_list *list, size_t from, size_t to) {
  enum { STRETCH = 1 << 16 };
  rush_value *items = list->items;
  while (from != to) {
    const rush_value v = items[from];
    const size_t left = from < to ? to - from : from - to, n = left < STRETCH ? left : STRETCH;
    const size_t next = from < to ? from + n : from - n;
    if (from < to)
      memmove(items + from, items + from + 1, n * sizeof v);
    else
      memmove(items + next + 1, items + next, n * sizeof v);
    items[next] = v;
    from = next;
    RUSH_TRY(rush_charge(c->ctx, n));
  }
  return RUSH_OK;
}

/* Removes item `i` and gives it with its reference. */
static rush_status take(rush_call *c, rush_list *list, size_t i, rush_value *out) {
  RUSH_TRY(move_item(c, list, i, list->n - 1));
  *out = list->items[--list->n];
  return RUSH_OK;
}

static rush_status remove_item(rush_call *c, rush_list *list, size_t i) {
  rush_value v;
  RUSH_TRY(take(c, list, i, &v));
  rush_drop(c->heap, &v);
  return RUSH_OK;
}

RUSH_OP(list_insert) {
  rush_list *list = self(c);
  const int64_t n = (int64_t)list->n, at = rush_clamp_index(arg_int(c, 1), n);
  RUSH_TRY(rush_list_add(c->heap, list, c->args[2]));
  return move_item(c, list, (size_t)n, (size_t)at);
}

RUSH_OP(list_pop) {
  size_t i;
  RUSH_CHECK_ARG(self(c)->n > 0, "pop from empty list");
  RUSH_CHECK_ARG(at_index(arg_int(c, 1), self(c)->n, &i), "list index out of range");
  return take(c, self(c), i, &c->results[0]);
}

RUSH_OP(list_delete) {
  size_t i;
  RUSH_CHECK_ARG(at_index(arg_int(c, 1), self(c)->n, &i), "list index out of range");
  return remove_item(c, self(c), i);
}

RUSH_OP(list_remove) {
  size_t i;
  RUSH_TRY(find(c, self(c), &c->args[1], &i));
  RUSH_CHECK_ARG(i < self(c)->n, "list.remove(x): x not in list");
  return remove_item(c, self(c), i);
}

RUSH_OP(list_set_item) {
  size_t i;
  RUSH_CHECK_ARG(at_index(arg_int(c, 1), self(c)->n, &i), "list index out of range");
  rush_list_set(c->heap, self(c), i, c->args[2]);
  if (c->n_results > 0) return_retained(c, &c->args[0]);
  return RUSH_OK;
}

RUSH_OP(list_clear) {
  return clear(c, self(c));
}

RUSH_OP(list_reverse) {
  rush_list *list = self(c);
  for (size_t i = 0; i < list->n / 2; i++) {
    rush_value v = list->items[i];
    list->items[i] = list->items[list->n - 1 - i];
    list->items[list->n - 1 - i] = v;
    RUSH_TRY(rush_charge(c->ctx, 1));
  }
  return RUSH_OK;
}

/* Merges the adjacent runs [at, mid) and [mid, end) into to[at...]. */
static rush_status merge(rush_call *c, const rush_value *from, rush_value *to, size_t at,
                         size_t mid, size_t end, bool reverse) {
  size_t i = at, j = mid;
  for (size_t k = at; k < end; k++) {
    bool second = i >= mid;
    if (!second && j < end)
      RUSH_TRY(reverse ? rush_values_less(c->ctx, &from[i], &from[j], &second)
                       : rush_values_less(c->ctx, &from[j], &from[i], &second));
    to[k] = second ? from[j++] : from[i++];
  }
  return RUSH_OK;
}

/* Sorts stably by merging, also if reversed. After an error, the list is a permutation of the
 * input. */
static rush_status sort(rush_call *c, rush_list *list, bool reverse) {
  const size_t n = list->n;
  size_t bytes;
  rush_value *other, *from = list->items;
  if (!rush_mul(n, sizeof *other, &bytes)) return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(rush_heap_alloc(c->heap, bytes, (void **)&other));
  rush_value *to = other;
  rush_status st = RUSH_OK;
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t at = 0; at < n && st == RUSH_OK; at += 2 * width) {
      size_t mid = at + width < n ? at + width : n, end = mid + width < n ? mid + width : n;
      st = merge(c, from, to, at, mid, end, reverse);
    }
    if (st != RUSH_OK) break;
    rush_value *swap = from;
    from = to;
    to = swap;
  }
  if (from == other) {
    list->items = other;
    list->capacity = n;
  }
  rush_heap_free(c->heap, to);
  return st;
}

static rush_status check_sortable(rush_call *c, const rush_list *list) {
  for (size_t i = 0; i < list->n; i++) {
    uint32_t kind = list->items[i].kind;
    RUSH_TRY(rush_charge(c->ctx, 1));
    RUSH_CHECK_ARG(kind == RUSH_KIND_INT || kind == RUSH_KIND_FLOAT || kind == RUSH_KIND_BOOL ||
                       kind == RUSH_KIND_STR || kind == RUSH_KIND_TUPLE,
                   "Only list of ints, floats, bools, strs and tuples can be sorted, not of %s",
                   rush_kind_name(kind));
  }
  return RUSH_OK;
}

RUSH_OP(list_sort) {
  RUSH_TRY(check_sortable(c, self(c)));
  return sort(c, self(c), arg_bool(c, 1));
}

RUSH_OP(list_sorted) {
  RUSH_TRY(check_sortable(c, arg_list(c, 0)));
  RUSH_TRY(rush_op_list_copy(c));
  return sort(c, rush_as_list(&c->results[0]), false);
}

/* ---- Reductions over all items --------------------------------------------------------------- */

static bool truth(const rush_value *v) {
  if (v->kind == RUSH_KIND_STR) return rush_as_str(v)->size > 0;
  return v->kind == RUSH_KIND_FLOAT ? v->u.f != 0 : v->u.i != 0;
}

static rush_status any_is(rush_call *c, bool wanted, bool found) {
  const rush_list *list = arg_list(c, 0);
  for (size_t i = 0; i < list->n; i++) {
    RUSH_TRY(rush_charge(c->ctx, 1));
    if (truth(&list->items[i]) != wanted) continue;
    ret_bool(c, 0, found);
    return RUSH_OK;
  }
  ret_bool(c, 0, !found);
  return RUSH_OK;
}
RUSH_OP(list_any) {
  return any_is(c, true, true);
}
RUSH_OP(list_all) {
  return any_is(c, false, false);
}

RUSH_OP(list_sum) {
  const rush_list *list = arg_list(c, 0);
  int64_t i_sum = 0;
  double f_sum = 0;
  bool floats = list->n > 0 ? list->items[0].kind == RUSH_KIND_FLOAT : rush_kind_of(c) == 1;
  for (size_t i = 0; i < list->n; i++) {
    RUSH_TRY(rush_charge(c->ctx, 1));
    if (floats)
      f_sum += list->items[i].u.f;
    else
      i_sum = (int64_t)((uint64_t)i_sum + (uint64_t)list->items[i].u.i);
  }
  if (floats)
    ret_float(c, 0, f_sum);
  else
    ret_int(c, 0, i_sum);
  return RUSH_OK;
}

/* min and max of a list, or of two lists: the first of equal ones */
static rush_status extreme(rush_call *c, bool least) {
  const bool two = c->n_args == 2;
  const rush_value *items = two ? c->args : arg_list(c, 0)->items, *best = items;
  const size_t n = two ? 2 : arg_list(c, 0)->n;
  RUSH_CHECK_ARG(n > 0, "%s() arg is an empty sequence", least ? "min" : "max");
  for (const rush_value *item = items + 1; item < items + n; item++) {
    bool better;
    RUSH_TRY(rush_values_less(c->ctx, least ? item : best, least ? best : item, &better));
    if (better) best = item;
  }
  return_retained(c, best);
  return RUSH_OK;
}
RUSH_OP(list_min) {
  return extreme(c, true);
}
RUSH_OP(list_max) {
  return extreme(c, false);
}

RUSH_OP(rangelist) {
  RUSH_TRY(return_list(c, NULL, 0));
  for (int64_t i = 0; i < arg_int(c, 0); i++)
    RUSH_TRY(push(c, rush_as_list(&c->results[0]), rush_int(i)));
  return RUSH_OK;
}
