/* Dicts are insertion-ordered lists that alternate keys and values. Dicts of models are short, so
 * lookup is a linear search. */
#include "blocks/values.h"
#include "call/define.h"

static rush_list *self(const rush_call *c) {
  return rush_as_list(&c->args[0]);
}
static uint32_t result_type(const rush_call *c) {
  return c->result_types ? c->result_types[0] : RUSH_NONE;
}

/* Sets *at to the position of the key, or to dict->n if it is missing. */
static rush_status find(rush_ctx *ctx, const rush_list *dict, const rush_value *key, size_t *at) {
  return rush_values_find(ctx, dict->items, dict->n, 2, key, at);
}

/* Replaces the value of a key, or appends both. */
static rush_status put(rush_heap *heap, rush_list *dict, const rush_value *key,
                       const rush_value *v) {
  size_t at;
  RUSH_TRY(find(heap->ctx, dict, key, &at));
  if (at < dict->n) {
    rush_list_set(heap, dict, at + 1, *v);
    return RUSH_OK;
  }
  RUSH_TRY(rush_list_add(heap, dict, *key));
  rush_status st = rush_list_add(heap, dict, *v);
  if (st != RUSH_OK) rush_drop(heap, &dict->items[--dict->n]);
  return st;
}

static void drop_pair(rush_heap *heap, rush_list *dict, size_t at) {
  rush_value key = dict->items[at], v = dict->items[at + 1];
  dict->n -= 2;
  memmove(dict->items + at, dict->items + at + 2, (dict->n - at) * sizeof v);
  rush_drop(heap, &key);
  rush_drop(heap, &v);
}

static rush_status missing(rush_call *c, const rush_value *key) {
  rush_text text = {.ctx = c->ctx};
  rush_status st = rush_repr(c->heap, &text, key);
  if (st == RUSH_OK) st = rush_text_status(&text);
  if (st == RUSH_OK)
    st = rush_fail(c->ctx, RUSH_ERR_BAD_ARGUMENT, "KeyError: %s",
                   text.data != NULL ? text.data : "");
  rush_release(c->ctx, text.data, text.capacity);
  return st;
}

static rush_status return_dict(rush_call *c, const rush_value *items, size_t n) {
  return rush_new_list(c->heap, RUSH_KIND_DICT, result_type(c), items, n, &c->results[0]);
}

/* Arguments alternate keys and values. The last value of a repeated key wins. */
RUSH_OP(dict_construct) {
  RUSH_CHECK_ARG(c->n_args % 2 == 0, "DictConstruct must get a value for each key");
  RUSH_TRY(return_dict(c, NULL, 0));
  for (uint32_t i = 0; i < c->n_args; i += 2)
    RUSH_TRY(put(c->heap, rush_as_list(&c->results[0]), &c->args[i], &c->args[i + 1]));
  return RUSH_OK;
}

/* dict() and dict(list of pairs) */
RUSH_OP(dict_of_pairs) {
  RUSH_TRY(return_dict(c, NULL, 0));
  for (size_t i = 0; c->n_args > 0 && i < arg_list(c, 0)->n; i++) {
    const rush_value *pair = &arg_list(c, 0)->items[i];
    RUSH_CHECK_ARG(pair->kind == RUSH_KIND_TUPLE && rush_as_list(pair)->n == 2,
                   "dict() must get a list of pairs");
    RUSH_TRY(put(c->heap, rush_as_list(&c->results[0]), &rush_as_list(pair)->items[0],
                 &rush_as_list(pair)->items[1]));
  }
  return RUSH_OK;
}

RUSH_OP(dict_copy) {
  return return_dict(c, arg_list(c, 0)->items, arg_list(c, 0)->n);
}

RUSH_OP(dict_len) {
  ret_int(c, 0, (int64_t)(arg_list(c, 0)->n / 2));
  return RUSH_OK;
}

RUSH_OP(dict_getitem) {
  size_t at;
  RUSH_TRY(find(c->ctx, self(c), &c->args[1], &at));
  if (at == self(c)->n) return missing(c, &c->args[1]);
  ret_retained(c, 0, &self(c)->items[at + 1]);
  return RUSH_OK;
}

/* get(key), get(key, default) */
RUSH_OP(dict_get) {
  size_t at;
  RUSH_TRY(find(c->ctx, self(c), &c->args[1], &at));
  if (at < self(c)->n)
    ret_retained(c, 0, &self(c)->items[at + 1]);
  else if (c->n_args > 2)
    ret_retained(c, 0, &c->args[2]);
  return RUSH_OK;
}

RUSH_OP(dict_contains) {
  size_t at;
  RUSH_TRY(find(c->ctx, self(c), &c->args[1], &at));
  ret_bool(c, 0, at < self(c)->n);
  return RUSH_OK;
}

static rush_status every_second(rush_call *c, size_t first) {
  RUSH_TRY(rush_new_list(c->heap, RUSH_KIND_LIST, result_type(c), NULL, 0, &c->results[0]));
  for (size_t i = first; i < self(c)->n; i += 2) {
    RUSH_TRY(rush_charge(c->ctx, 4));
    RUSH_TRY(rush_list_push(c->heap, rush_as_list(&c->results[0]), self(c)->items[i]));
  }
  return RUSH_OK;
}
RUSH_OP(dict_keys) {
  return every_second(c, 0);
}
RUSH_OP(dict_values) {
  return every_second(c, 1);
}

RUSH_OP(dict_items) {
  RUSH_TRY(rush_new_list(c->heap, RUSH_KIND_LIST, result_type(c), NULL, 0, &c->results[0]));
  for (size_t i = 0; i < self(c)->n; i += 2) {
    rush_value pair;
    RUSH_TRY(rush_charge(c->ctx, 4));
    RUSH_TRY(rush_new_list(c->heap, RUSH_KIND_TUPLE, RUSH_NONE, self(c)->items + i, 2, &pair));
    rush_status st = rush_list_push(c->heap, rush_as_list(&c->results[0]), pair);
    rush_drop(c->heap, &pair);
    RUSH_TRY(st);
  }
  return RUSH_OK;
}

RUSH_OP(dict_set_item) {
  return put(c->heap, self(c), &c->args[1], &c->args[2]);
}

RUSH_OP(dict_setdefault) {
  size_t at;
  RUSH_TRY(find(c->ctx, self(c), &c->args[1], &at));
  if (at == self(c)->n) RUSH_TRY(put(c->heap, self(c), &c->args[1], &c->args[2]));
  ret_retained(c, 0, &self(c)->items[at + 1]);
  return RUSH_OK;
}

RUSH_OP(dict_delete) {
  size_t at;
  RUSH_TRY(find(c->ctx, self(c), &c->args[1], &at));
  if (at == self(c)->n) return missing(c, &c->args[1]);
  drop_pair(c->heap, self(c), at);
  return RUSH_OK;
}

/* pop(key), pop(key, default) */
RUSH_OP(dict_pop) {
  size_t at;
  RUSH_TRY(find(c->ctx, self(c), &c->args[1], &at));
  if (at < self(c)->n) {
    ret_retained(c, 0, &self(c)->items[at + 1]);
    drop_pair(c->heap, self(c), at);
    return RUSH_OK;
  }
  if (c->n_args < 3) return missing(c, &c->args[1]);
  ret_retained(c, 0, &c->args[2]);
  return RUSH_OK;
}

/* Pops the first pair, as libtorch does. Python pops the last. */
RUSH_OP(dict_popitem) {
  RUSH_CHECK_ARG(self(c)->n > 0, "popitem(): dictionary is empty");
  RUSH_TRY(
      rush_new_list(c->heap, RUSH_KIND_TUPLE, result_type(c), self(c)->items, 2, &c->results[0]));
  drop_pair(c->heap, self(c), 0);
  return RUSH_OK;
}

RUSH_OP(dict_clear) {
  while (self(c)->n > 0) {
    RUSH_TRY(rush_charge(c->ctx, 8));
    drop_pair(c->heap, self(c), self(c)->n - 2);
  }
  return RUSH_OK;
}

RUSH_OP(dict_update) {
  const rush_list *other = arg_list(c, 1);
  for (size_t i = 0; other != self(c) && i < other->n; i += 2)
    RUSH_TRY(put(c->heap, self(c), &other->items[i], &other->items[i + 1]));
  return RUSH_OK;
}
