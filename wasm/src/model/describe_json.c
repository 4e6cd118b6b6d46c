/* Describes everything in a file except the program as JSON. */
#include <stdio.h>

#include "model/describe.h"
#include "model/json.h"

static uint64_t tensor_bytes(const rush_file_tensor *t) {
  int64_t numel = 0;
  rush_numel(t->rank, t->sizes, &numel);
  return (uint64_t)numel * rush_dtype_size((rush_dtype)t->dtype);
}

static void json_hint(rush_json *j, const rush_file_hint *h) {
  rush_json_key(j, "dtype");
  if (h && h->dtype != RUSH_DTYPE_UNKNOWN) {
    rush_json_text(j, rush_dtype_name(h->dtype));
  } else {
    rush_json_value(j, "null");
  }
  rush_json_key(j, "shape");
  if (h && h->rank != 255) {
    rush_json_sizes(j, h->rank, h->sizes);
  } else {
    rush_json_value(j, "null");
  }
}

uint32_t rush_first_constraint(const rush_model *m, uint32_t port) {
  uint32_t lo = 0, hi = m->n_constraints;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (m->constraints[mid].port < port)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/* Writes null or a constraint for each size. */
static void json_constraints(rush_json *j, uint32_t port) {
  const rush_model *m = j->m;
  uint32_t i = rush_first_constraint(m, port), dim = 0;
  if (i >= m->n_constraints || m->constraints[i].port != port) return;
  rush_json_key(j, "constraints");
  rush_json_open(j, '[');
  for (; i < m->n_constraints && m->constraints[i].port == port; i++) {
    const rush_file_constraint *p = m->constraints + i;
    for (; dim < p->dim; dim++) rush_json_value(j, "null");
    dim = p->dim + 1;
    rush_json_open(j, '{');
    rush_json_key(j, "name");
    if (p->name == RUSH_NONE) {
      rush_json_value(j, "null");
    } else {
      rush_json_string(j, p->name);
    }
    rush_json_key(j, "min");
    rush_json_value(j, "%lld", (long long)p->min);
    rush_json_key(j, "max");
    if (p->max == INT64_MAX) {
      rush_json_value(j, "null");
    } else {
      rush_json_value(j, "%lld", (long long)p->max);
    }
    rush_json_close(j, '}');
  }
  rush_json_close(j, ']');
}

static void json_ports(rush_json *j, uint32_t first, uint32_t n) {
  const rush_model *m = j->m;
  rush_json_open(j, '[');
  for (uint32_t k = 0; k < n && rush_json_ok(j); k++) {
    const rush_file_port *p = m->ports + first + k;
    rush_json_open(j, '{');
    rush_json_string_at(j, "name", p->name);
    rush_json_type_at(j, "type", p->type);
    json_hint(j, p->hint == RUSH_NONE ? NULL : m->hints + p->hint);
    json_constraints(j, first + k);
    rush_json_key(j, "optional");
    rush_json_value(j, p->initial == RUSH_NONE ? "false" : "true");
    rush_json_close(j, '}');
  }
  rush_json_close(j, ']');
}

static void json_missing(rush_json *j, uint32_t i, const rush_file_instr *first) {
  const rush_model *m = j->m;
  const bool known = first && first->source < m->n_sources;
  rush_json_string_at(j, "schema", m->file_ops[i].schema);
  rush_json_string_at(j, "file", known ? m->sources[first->source].file : RUSH_NONE);
  rush_json_number_at(j, "line", known ? m->sources[first->source].line : 0);
}

/* Writes a schema type in the form of ports: without alias annotations and list lengths. */
static void json_schema_type(rush_json *j, const char *type, uint32_t size) {
  const char *end = type + size;
  rush_text t = {.ctx = j->text->ctx};
  for (const char *at = type; at < end; at++) {
    const bool generic = (at - type >= 4 && memcmp(at - 4, "Dict", 4) == 0) ||
                         (at - type >= 6 && memcmp(at - 6, "Future", 6) == 0);
    if (*at == '(' && at > type && !strchr("( ", at[-1]) && !generic) {
      while (at < end && *at != ')') at++;
    } else if (*at == '[') {
      while (at < end && *at != ']') at++;
      rush_text_add(&t, "[]");
    } else if (end - at >= 6 && memcmp(at, "SymInt", 6) == 0) {
      rush_text_add(&t, "int");
      at += 5;
    } else {
      rush_text_add(&t, "%c", *at);
    }
  }
  char *text;
  size_t bytes;
  const rush_status st = rush_text_take(&t, &text, &bytes);
  if (st != RUSH_OK) {
    rush_text_fail(j->text, st);
    return;
  }
  rush_json_text(j, text);
  rush_release(j->text->ctx, text, bytes);
}

/* Writes what the host needs in order to compute an operator: the arguments it writes, and the
 * index of the result for each (-1 for none). */
static void json_signature(rush_json *j, const rush_schema *s) {
  rush_json_key(j, "args");
  rush_json_open(j, '[');
  for (uint32_t k = 0; k < s->n_args; k++)
    rush_json_value(j, "{\"written\":%s,\"result\":%d}", s->args[k].written ? "true" : "false",
                    s->args[k].returned);
  rush_json_close(j, ']');
  rush_json_key(j, "results");
  rush_json_open(j, '[');
  for (uint32_t k = 0; k < s->n_results; k++)
    json_schema_type(j, s->result_types[k].text, s->result_types[k].size);
  rush_json_close(j, ']');
}

static void json_ops(rush_json *j, const rush_op_use *uses, bool missing) {
  const rush_model *m = j->m;
  rush_json_open(j, '[');
  for (uint32_t i = 0; i < m->n_ops && rush_json_ok(j); i++) {
    const rush_op *op = m->ops[i].op;
    const rush_file_instr *first = uses[i].count > 0 ? m->instrs + uses[i].first : NULL;
    if (missing && op) continue;
    rush_json_open(j, '{');
    rush_json_string_at(j, "name", m->file_ops[i].name);
    rush_json_number_at(j, "count", uses[i].count);
    if (missing) {
      json_missing(j, i, first);
    } else if (op && (op->flags & RUSH_OP_EXTERNAL)) {
      rush_json_text_at(j, "schema", op->schema);
      json_signature(j, &m->ops[i].schema);
    }
    rush_json_close(j, '}');
  }
  rush_json_close(j, ']');
}

/* Marks the tensors of the file that the program refers to, and not only a test vector. */
static void mark_used(const rush_model *m, bool *used) {
  for (uint32_t i = 0; i < m->n_constants; i++) {
    const rush_file_constant *c = m->constants + i;
    if (c->kind == RUSH_CONST_TENSOR && m->constant_used[i]) used[c->a] = true;
  }
}

static void json_weights(rush_json *j) {
  const rush_model *m = j->m;
  bool *used;
  const rush_status st = rush_calloc(j->text->ctx, m->n_tensors, sizeof *used, (void **)&used);
  if (st != RUSH_OK) {
    rush_text_fail(j->text, st);
    return;
  }
  mark_used(m, used);
  rush_json_open(j, '[');
  for (uint32_t i = 0; i < m->n_tensors && rush_json_ok(j); i++) {
    const rush_file_tensor *r = m->tensors + i;
    if (r->storage == RUSH_NONE) continue;
    rush_json_open(j, '{');
    rush_json_string_at(j, "name", r->name);
    rush_json_text_at(j, "dtype", rush_dtype_name(r->dtype));
    rush_json_key(j, "shape");
    rush_json_sizes(j, r->rank, r->sizes);
    rush_json_number_at(j, "bytes", tensor_bytes(r));
    rush_json_key(j, "used");
    rush_json_value(j, used[i] ? "true" : "false");
    rush_json_close(j, '}');
  }
  rush_json_close(j, ']');
  rush_release(j->text->ctx, used, m->n_tensors * sizeof *used);
}

static void json_method(rush_json *j, const rush_file_method *f) {
  rush_json_open(j, '{');
  rush_json_string_at(j, "name", f->name);
  rush_json_key(j, "inputs");
  json_ports(j, f->inputs, f->n_inputs);
  rush_json_key(j, "outputs");
  json_ports(j, f->outputs, f->n_outputs);
  rush_json_type_at(j, "result", f->result);
  rush_json_number_at(j, "instructions", f->n_instrs);
  rush_json_close(j, '}');
}

static void json_attributes(rush_json *j) {
  rush_json_open(j, '[');
  for (uint32_t i = 0; i < j->m->n_attributes && rush_json_ok(j); i++) {
    rush_json_open(j, '{');
    rush_json_string_at(j, "name", j->m->attributes[i].name);
    rush_json_type_at(j, "type", j->m->attributes[i].type);
    rush_json_close(j, '}');
  }
  rush_json_close(j, ']');
}

static void json_meta(rush_json *j) {
  rush_json_open(j, '{');
  for (uint32_t i = 0; i < j->m->n_meta && rush_json_ok(j); i++) {
    rush_json_key_of(j, j->m->meta[i].key);
    rush_json_string(j, j->m->meta[i].value);
  }
  rush_json_close(j, '}');
}

static void json_assets(rush_json *j) {
  rush_json_open(j, '[');
  for (uint32_t i = 0; i < j->m->n_assets && rush_json_ok(j); i++) {
    const rush_file_asset *a = j->m->assets + i;
    char sha256[65];
    for (size_t k = 0; k < sizeof a->sha256; k++) snprintf(sha256 + 2 * k, 3, "%02x", a->sha256[k]);
    rush_json_open(j, '{');
    rush_json_string_at(j, "name", a->name);
    rush_json_number_at(j, "offset", j->m->head_bytes + a->offset);
    rush_json_number_at(j, "bytes", a->bytes);
    rush_json_text_at(j, "sha256", sha256);
    rush_json_close(j, '}');
  }
  rush_json_close(j, ']');
}

/* Returns the bytes of a method's inputs with the sizes of the example. Inputs with unknown sizes
 * count as 0. */
static uint64_t input_bytes(const rush_model *m, const rush_file_method *f) {
  uint64_t sum = 0;
  for (uint32_t k = 0; k < f->n_inputs; k++) {
    const uint32_t at = m->ports[f->inputs + k].hint;
    const rush_file_hint *h = at == RUSH_NONE ? NULL : m->hints + at;
    int64_t numel;
    if (h && h->dtype != RUSH_DTYPE_UNKNOWN && h->rank != 255 &&
        rush_numel(h->rank, h->sizes, &numel))
      sum += (uint64_t)numel * rush_dtype_size((rush_dtype)h->dtype);
  }
  return sum;
}

/* Writes the memory that a loaded model takes before its first operator runs, and the limit. */
static void json_memory(rush_json *j) {
  const uint64_t least = j->m->total_bytes + input_bytes(j->m, j->m->methods);
  const size_t limit = j->text->ctx->limit ? j->text->ctx->limit : SIZE_MAX;
  rush_json_key(j, "memory");
  rush_json_value(j, "{\"least\":%llu,\"limit\":%llu,\"fits\":%s}", (unsigned long long)least,
                  (unsigned long long)limit, least <= limit ? "true" : "false");
}

static void json_sizes_of_file(rush_json *j) {
  const rush_model *m = j->m;
  rush_json_number_at(j, "format", RUSH_FORMAT_VERSION);
  rush_json_number_at(j, "bytes", m->total_bytes);
  rush_json_number_at(j, "headBytes", m->head_bytes);
  rush_json_number_at(j, "weightsBytes", m->total_bytes - m->head_bytes);
}

void rush_describe_json(rush_text *t, const rush_model *m, const rush_op_use *uses) {
  rush_json json = {t, m, false}, *j = &json;
  rush_json_open(j, '{');
  json_sizes_of_file(j);
  json_memory(j);
  rush_json_key(j, "inputs");
  json_ports(j, m->methods->inputs, m->methods->n_inputs);
  rush_json_key(j, "outputs");
  json_ports(j, m->methods->outputs, m->methods->n_outputs);
  rush_json_key(j, "methods");
  rush_json_open(j, '[');
  for (uint32_t f = 0; f < m->n_methods && rush_json_ok(j); f++) json_method(j, m->methods + f);
  rush_json_close(j, ']');
  rush_json_key(j, "operators");
  json_ops(j, uses, false);
  rush_json_key(j, "missing");
  json_ops(j, uses, true);
  rush_json_key(j, "attributes");
  json_attributes(j);
  rush_json_key(j, "weights");
  json_weights(j);
  rush_json_number_at(j, "tests", m->n_tests);
  rush_json_key(j, "meta");
  json_meta(j);
  rush_json_key(j, "assets");
  json_assets(j);
  rush_json_close(j, '}');
}
