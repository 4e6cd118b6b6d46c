/* Resolves operands that overlap a tensor that the row writes. */
#include "call/overlap.h"

#include "tensor/layout.h"

static rush_status refuse_items(rush_call *c, const rush_tensor *t, const rush_list *list) {
  for (size_t k = 0; k < list->n; k++)
    if (list->items[k].kind == RUSH_KIND_TENSOR)
      RUSH_TRY(rush_check_no_overlap(c->ctx, t, rush_as_tensor(list->items + k)));
  return RUSH_OK;
}

rush_status rush_overlap_copy(rush_call *c, const rush_tensor *t, rush_value *v) {
  rush_tensor *copy;
  if (v->kind == RUSH_KIND_LIST) return refuse_items(c, t, rush_as_list(v));
  if (v->kind != RUSH_KIND_TENSOR || !rush_may_overlap(t, rush_as_tensor(v))) return RUSH_OK;
  if (c->op->flags & RUSH_OP_NO_OVERLAP)
    RUSH_TRY(rush_check_no_overlap(c->ctx, t, rush_as_tensor(v)));
  RUSH_TRY(rush_clone(c->heap, rush_as_tensor(v), RUSH_FORMAT_PRESERVE, &copy));
  *v = rush_of_tensor(tmp_take(c, copy));
  return RUSH_OK;
}

static rush_status resolve(rush_call *c, const rush_schema *schema, rush_value *args) {
  for (uint32_t w = 0; w < schema->n_args; w++) {
    if (!schema->args[w].written || args[w].kind != RUSH_KIND_TENSOR) continue;
    for (uint32_t k = 0; k < schema->n_args; k++) {
      const void *given = args[k].u.ref;
      if (schema->args[k].written) continue;
      RUSH_TRY(rush_overlap_copy(c, rush_as_tensor(args + w), args + k));
      /* The call owns the copy, so it must not be reused. */
      if (args[k].u.ref != given && k < 32) c->last_use &= ~(1u << k);
    }
  }
  return RUSH_OK;
}

const rush_overlap rush_overlap_default = {resolve};
