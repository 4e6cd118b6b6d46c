/* The values that a type of the file accepts. */
#include "model/model.h"

static const rush_kinds any_number = RUSH_KIND_BIT(RUSH_KIND_INT) | RUSH_KIND_BIT(RUSH_KIND_FLOAT) |
                                     RUSH_KIND_BIT(RUSH_KIND_BOOL) |
                                     RUSH_KIND_BIT(RUSH_KIND_COMPLEX);

static rush_kinds kinds_of_union(const rush_model *m, const rush_file_type *t) {
  rush_kinds kinds = 0;
  for (uint32_t k = 0; k < t->n; k++) kinds |= rush_type_kinds(m, m->lists[t->list + k]);
  return kinds;
}

/* Returns the kinds of a type whose children's kinds are known. */
static rush_kinds kinds_of_type(const rush_model *m, uint32_t type) {
  const rush_file_type *t = m->types + type;
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
      return kinds_of_union(m, t);
    case RUSH_TYPE_NUMBER:
      return any_number;
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

/* The recursion depth is limited to RUSH_MAX_NESTING, the nesting of types. A value that occurs
 * twice in another one is visited twice, so the work is counted. */
bool rush_value_fits(rush_ctx *ctx, const rush_model *m, uint32_t type, const rush_value *v) {
  const rush_file_type *t = m->types + type;
  const uint32_t *children = t->n > 0 ? m->lists + t->list : NULL; /* a file may have no lists */
  if (rush_should_stop(ctx, 4)) return false;
  if (!(rush_type_kinds(m, type) & RUSH_KIND_BIT(v->kind))) return false;
  if (v->kind == RUSH_KIND_TENSOR && !rush_has_elements(rush_as_tensor(v))) return false;
  if (t->kind == RUSH_TYPE_OPTIONAL)
    return v->kind == RUSH_KIND_NONE || rush_value_fits(ctx, m, children[0], v);
  if (t->kind == RUSH_TYPE_UNION) {
    for (uint32_t k = 0; k < t->n; k++) {
      if (rush_value_fits(ctx, m, children[k], v)) return true;
    }
    return false;
  }
  if (t->kind == RUSH_TYPE_OBJECT || t->kind == RUSH_TYPE_ENUM)
    return strcmp(rush_string(m, t->name), rush_string(m, m->types[rush_as_list(v)->type].name)) ==
           0;
  if (t->kind != RUSH_TYPE_LIST && t->kind != RUSH_TYPE_TUPLE && t->kind != RUSH_TYPE_DICT)
    return true;
  const rush_list *list = rush_as_list(v);
  if (t->kind == RUSH_TYPE_TUPLE && list->n != t->n) return false;
  for (size_t k = 0; k < list->n; k++) {
    uint32_t child = t->kind == RUSH_TYPE_LIST   ? children[0]
                     : t->kind == RUSH_TYPE_DICT ? children[k % 2]
                                                 : children[k];
    if (!rush_value_fits(ctx, m, child, list->items + k)) return false;
  }
  return true;
}
