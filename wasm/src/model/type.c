/* What values a type of the file lets through. */
#include "model/model.h"

/* The kinds of a type whose children's are known. */
static rush_kinds kinds_of_type(const rush_model *m, uint32_t type) {
  const rush_file_type *t = m->types + type;
  rush_kinds kinds = 0;
  switch (t->kind) {
    case RUSH_TYPE_NONE:
      return RUSH_KIND_BIT(RUSH_KIND_NONE);
    case RUSH_TYPE_TENSOR:
      return RUSH_KIND_BIT(RUSH_KIND_TENSOR);
    case RUSH_TYPE_INT:
      return RUSH_KIND_BIT(RUSH_KIND_INT);
    case RUSH_TYPE_FLOAT:
      return RUSH_KIND_BIT(RUSH_KIND_FLOAT);
    case RUSH_TYPE_BOOL:
      return RUSH_KIND_BIT(RUSH_KIND_BOOL);
    case RUSH_TYPE_COMPLEX:
      return RUSH_KIND_BIT(RUSH_KIND_COMPLEX);
    case RUSH_TYPE_STR:
      return RUSH_KIND_BIT(RUSH_KIND_STR);
    case RUSH_TYPE_LIST:
      return RUSH_KIND_BIT(RUSH_KIND_LIST);
    case RUSH_TYPE_TUPLE:
      return RUSH_KIND_BIT(RUSH_KIND_TUPLE);
    case RUSH_TYPE_DICT:
      return RUSH_KIND_BIT(RUSH_KIND_DICT);
    case RUSH_TYPE_OPTIONAL:
      return RUSH_KIND_BIT(RUSH_KIND_NONE) | rush_type_kinds(m, m->lists[t->list]);
    case RUSH_TYPE_UNION:
      for (uint32_t k = 0; k < t->n; k++) kinds |= rush_type_kinds(m, m->lists[t->list + k]);
      return kinds;
    case RUSH_TYPE_NUMBER:
      return RUSH_KIND_BIT(RUSH_KIND_INT) | RUSH_KIND_BIT(RUSH_KIND_FLOAT) |
             RUSH_KIND_BIT(RUSH_KIND_BOOL) | RUSH_KIND_BIT(RUSH_KIND_COMPLEX);
    case RUSH_TYPE_DEVICE:
      return RUSH_KIND_BIT(RUSH_KIND_DEVICE);
    case RUSH_TYPE_OBJECT:
      return RUSH_KIND_BIT(RUSH_KIND_OBJECT);
    case RUSH_TYPE_ENUM:
      return RUSH_KIND_BIT(RUSH_KIND_ENUM);
    default:
      return RUSH_KINDS_ANY;
  }
}

rush_status rush_find_type_kinds(rush_ctx *ctx, rush_model *m) {
  RUSH_TRY(rush_calloc(ctx, m->n_types, sizeof *m->type_kinds, (void **)&m->type_kinds));
  for (uint32_t i = 0; i < m->n_types; i++) m->type_kinds[i] = kinds_of_type(m, i);
  return RUSH_OK;
}

static rush_status fits_one_of(rush_ctx *ctx, const rush_model *m, const rush_file_type *t,
                               const rush_value *v, bool *out) {
  *out = false;
  for (uint32_t k = 0; k < t->n && !*out; k++)
    RUSH_TRY(rush_value_fits(ctx, m, m->lists[t->list + k], v, out));
  return RUSH_OK;
}

static rush_status items_fit(rush_ctx *ctx, const rush_model *m, const rush_file_type *t,
                             const rush_list *list, bool *out) {
  const uint32_t *children = t->n > 0 ? m->lists + t->list : NULL; /* a file may have no lists */
  *out = t->kind != RUSH_TYPE_TUPLE || list->n == t->n;
  for (size_t k = 0; k < list->n && *out; k++) {
    const uint32_t child = t->kind == RUSH_TYPE_LIST   ? children[0]
                           : t->kind == RUSH_TYPE_DICT ? children[k % 2]
                                                       : children[k];
    RUSH_TRY(rush_value_fits(ctx, m, child, list->items + k, out));
  }
  return RUSH_OK;
}

static bool is_of_class(const rush_model *m, const rush_file_type *t, const rush_value *v) {
  const rush_file_type *own = m->types + rush_as_list(v)->type;
  return strcmp(rush_string(m, t->name), rush_string(m, own->name)) == 0;
}

/* Recursion is as deep as types are nested: at most RUSH_MAX_NESTING. A value that holds another one
 * twice has it looked through twice, so that the work is counted. */
rush_status rush_value_fits(rush_ctx *ctx, const rush_model *m, uint32_t type, const rush_value *v,
                            bool *out) {
  const rush_file_type *t = m->types + type;
  RUSH_TRY(rush_work(ctx, 4));
  *out = (rush_type_kinds(m, type) & RUSH_KIND_BIT(v->kind)) != 0;
  if (v->kind == RUSH_KIND_TENSOR) *out = *out && rush_has_elements(rush_as_tensor(v));
  if (!*out) return RUSH_OK;
  switch (t->kind) {
    case RUSH_TYPE_OPTIONAL:
      return v->kind == RUSH_KIND_NONE ? RUSH_OK
                                       : rush_value_fits(ctx, m, m->lists[t->list], v, out);
    case RUSH_TYPE_UNION:
      return fits_one_of(ctx, m, t, v, out);
    case RUSH_TYPE_OBJECT:
    case RUSH_TYPE_ENUM:
      *out = is_of_class(m, t, v);
      return RUSH_OK;
    case RUSH_TYPE_LIST:
    case RUSH_TYPE_TUPLE:
    case RUSH_TYPE_DICT:
      return items_fit(ctx, m, t, rush_as_list(v), out);
    default:
      return RUSH_OK;
  }
}
