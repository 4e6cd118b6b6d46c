/* The public functions on values and models, as thin wrappers of value.h, tensor.h and model.h. */
#include "exec/session.h"
#include "tensor/layout.h"
#include "tensor/turned.h"

#define CHECK_KIND(s, v, kind_)                                                              \
  RUSH_CHECK((s)->ctx, (v)->kind == (kind_), RUSH_ERR_BAD_ARGUMENT, "expected a %s, got %s", \
             rush_kind_name(kind_), rush_kind_name((v)->kind))

/* ---- Values ---------------------------------------------------------------------------------- */

void rush_value_retain(rush_session *s, const rush_value *value) {
  (void)s;
  (void)rush_value_retained(*value);
}

void rush_value_release(rush_session *s, rush_value *value) {
  rush_drop(&s->heap, value);
}

rush_status rush_tensor_create(rush_session *s, rush_dtype dtype, int rank, const int64_t *sizes,
                               rush_value *out, void **data) {
  rush_tensor *t;
  *out = rush_none();
  *data = NULL;
  RUSH_TRY(rush_tensor_new_checked(&s->heap, dtype, rank, sizes, &t));
  *out = rush_of_tensor(t);
  *data = rush_data(t);
  return RUSH_OK;
}

rush_status rush_tensor_view(rush_session *s, const rush_value *base, int rank,
                             const int64_t *sizes, const int64_t *strides, int64_t offset,
                             rush_value *out) {
  rush_tensor *t;
  *out = rush_none();
  CHECK_KIND(s, base, RUSH_KIND_TENSOR);
  RUSH_TRY(rush_turn_back_value(&s->heap, base));
  RUSH_TRY(rush_tensor_new_view(&s->heap, rush_as_tensor(base), rank, sizes, strides, offset, &t));
  *out = rush_of_tensor(t);
  return RUSH_OK;
}

rush_status rush_tensor_inspect(rush_session *s, const rush_value *tensor, rush_tensor_info *out) {
  *out = (rush_tensor_info){0};
  CHECK_KIND(s, tensor, RUSH_KIND_TENSOR);
  RUSH_TRY(rush_turn_back_value(&s->heap, tensor));
  *out = rush_tensor_info_of(rush_as_tensor(tensor));
  return RUSH_OK;
}

rush_status rush_tensor_make_contiguous(rush_session *s, rush_value *tensor) {
  rush_tensor *t;
  CHECK_KIND(s, tensor, RUSH_KIND_TENSOR);
  RUSH_CHECK(s->ctx, rush_has_elements(rush_as_tensor(tensor)), RUSH_ERR_BAD_ARGUMENT,
             "the weight's elements are packed for the kernels");
  RUSH_CHECK(s->ctx, !rush_is_quantized(rush_as_tensor(tensor)->dtype), RUSH_ERR_UNSUPPORTED,
             "not implemented for '%s'", rush_dtype_torch_name(rush_as_tensor(tensor)->dtype));
  RUSH_TRY(rush_turn_back_value(&s->heap, tensor));
  RUSH_TRY(rush_tensor_contiguous(&s->heap, rush_as_tensor(tensor), &t));
  rush_drop(&s->heap, tensor);
  *tensor = rush_of_tensor(t);
  return RUSH_OK;
}

rush_status rush_str_create(rush_session *s, const char *bytes, size_t size, rush_value *out) {
  return rush_new_str(&s->heap, bytes, size, out);
}

const char *rush_str_bytes(const rush_value *str, size_t *size) {
  *size = 0;
  if (str->kind != RUSH_KIND_STR && str->kind != RUSH_KIND_DEVICE) return "";
  *size = rush_as_str(str)->size;
  return rush_as_str(str)->bytes;
}

rush_status rush_list_create(rush_session *s, const rush_value *items, size_t n, rush_value *out) {
  return rush_new_list(&s->heap, RUSH_KIND_LIST, RUSH_NONE, items, n, out);
}

rush_status rush_tuple_create(rush_session *s, const rush_value *items, size_t n, rush_value *out) {
  return rush_new_list(&s->heap, RUSH_KIND_TUPLE, RUSH_NONE, items, n, out);
}

rush_status rush_dict_create(rush_session *s, const rush_value *items, size_t n, rush_value *out) {
  *out = rush_none();
  RUSH_CHECK(s->ctx, n % 2 == 0, RUSH_ERR_BAD_ARGUMENT,
             "a dict must have a value for each key, got %zu keys and values", n);
  return rush_new_list(&s->heap, RUSH_KIND_DICT, RUSH_NONE, items, n, out);
}

rush_status rush_complex_create(rush_session *s, double re, double im, rush_value *out) {
  return rush_new_complex(&s->heap, re, im, out);
}

void rush_complex_get(const rush_value *value, double *re, double *im) {
  *re = *im = 0;
  if (value->kind != RUSH_KIND_COMPLEX) return;
  const rush_complex *z = value->u.ref;
  *re = z->re;
  *im = z->im;
}

const rush_value *rush_items(const rush_value *container, size_t *n) {
  *n = 0;
  if (!rush_is_container(container->kind)) return NULL;
  *n = rush_as_list(container)->n;
  return rush_as_list(container)->items;
}

/* ---- Models ---------------------------------------------------------------------------------- */

size_t rush_model_method_count(const rush_model *m) {
  return m->n_methods;
}

int rush_model_find_method(const rush_model *m, const char *name) {
  for (uint32_t f = 0; f < m->n_methods; f++) {
    if (strcmp(rush_string(m, m->methods[f].name), name) == 0) return (int)f;
  }
  return -1;
}

const char *rush_model_method_name(const rush_model *m, size_t method) {
  return method < m->n_methods ? rush_string(m, m->methods[method].name) : NULL;
}

size_t rush_model_input_count(const rush_model *m, size_t method) {
  return method < m->n_methods ? m->methods[method].n_inputs : 0;
}

const char *rush_model_input_name(const rush_model *m, size_t method, size_t input) {
  if (input >= rush_model_input_count(m, method)) return NULL;
  return rush_string(m, m->ports[m->methods[method].inputs + input].name);
}

size_t rush_model_output_count(const rush_model *m, size_t method) {
  return method < m->n_methods ? m->methods[method].n_outputs : 0;
}

const char *rush_model_output_name(const rush_model *m, size_t method, size_t output) {
  if (output >= rush_model_output_count(m, method)) return NULL;
  return rush_string(m, m->ports[m->methods[method].outputs + output].name);
}

size_t rush_model_weight_count(const rush_model *m) {
  return m->n_tensors;
}

rush_status rush_model_weight(rush_ctx *ctx, const rush_model *m, size_t index,
                              rush_weight_info *out) {
  *out = (rush_weight_info){.name = ""};
  RUSH_CHECK(ctx, index < m->n_tensors, RUSH_ERR_BAD_ARGUMENT,
             "tensor %zu does not exist, the file has %u", index, m->n_tensors);
  const rush_file_tensor *t = m->tensors + index;
  RUSH_CHECK(ctx, t->storage != RUSH_NONE, RUSH_ERR_BAD_ARGUMENT,
             "tensor %zu only describes a shape", index);
  *out = (rush_weight_info){
      rush_string(m, t->name),
      t->dtype,
      t->rank,
      t->sizes,
      t->strides,
      m->head_bytes + m->storages[t->storage].offset + t->offset * rush_dtype_size(t->dtype),
      m->weights[t->storage].pattern};
  return RUSH_OK;
}

size_t rush_model_test_count(const rush_model *m) {
  return m->n_tests;
}

bool rush_has_dtype(int dtype) {
  return rush_dtype_known(dtype);
}

bool rush_has_op(const char *name) {
  bool inplace;
  return rush_op_find(name, &inplace) != NULL;
}

const char *rush_op_schema(const char *name) {
  bool inplace;
  const rush_op *op = rush_op_find(name, &inplace);
  return op != NULL && !inplace ? op->schema : NULL;
}
