/* Enums, and objects of classes that a program defines. Objects are shared by reference, as in
 * PyTorch. */
#include "call/define.h"
#include "model/model.h"

/* Returns "RED" for "__torch__.Color.RED". */
RUSH_OP(enum_name) {
  const rush_str *name = rush_as_str(rush_as_list(&c->args[0])->items);
  const char *dot = strrchr(name->bytes, '.'), *from = dot ? dot + 1 : name->bytes;
  return rush_new_str(c->heap, from, name->size - (size_t)(from - name->bytes), &c->results[0]);
}

RUSH_OP(enum_value) {
  ret_retained(c, 0, rush_as_list(&c->args[0])->items + 1);
  return RUSH_OK;
}

/* Creates an object of the result's class. Its attributes are None until they are set. */
RUSH_OP(object) {
  const rush_model *m = c->model;
  const rush_file_type *type = m->types + c->result_types[0];
  RUSH_CHECK_ARG(type->kind == RUSH_TYPE_OBJECT, "an object has no class");
  RUSH_TRY(rush_new_list(c->heap, RUSH_KIND_OBJECT, c->result_types[0], NULL, 0, &c->results[0]));
  rush_status st = RUSH_OK;
  for (uint32_t k = 0; k < type->n && st == RUSH_OK; k++)
    st = rush_list_push(c->heap, rush_as_list(&c->results[0]), rush_none());
  if (st != RUSH_OK) rush_drop(c->heap, &c->results[0]);
  return st;
}

static rush_status attribute(rush_call *c, size_t *out) {
  RUSH_CHECK_ARG(c->args[0].kind == RUSH_KIND_OBJECT, "%s has no attributes",
                 rush_kind_name(c->args[0].kind));
  const rush_list *object = rush_as_list(&c->args[0]);
  int64_t slot = arg_int(c, 1);
  RUSH_CHECK_ARG(slot >= 0 && (size_t)slot < object->n, "the object has no attribute %lld",
                 (long long)slot);
  *out = (size_t)slot;
  return RUSH_OK;
}

RUSH_OP(object_get) {
  size_t slot;
  RUSH_TRY(attribute(c, &slot));
  ret_retained(c, 0, rush_as_list(&c->args[0])->items + slot);
  return RUSH_OK;
}

RUSH_OP(object_set) {
  size_t slot;
  RUSH_TRY(attribute(c, &slot));
  rush_list_set(c->heap, rush_as_list(&c->args[0]), slot, c->args[2]);
  return RUSH_OK;
}
