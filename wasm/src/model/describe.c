/* What a file is, as text and as JSON: the one description behind the C++ tool, Python and JS. */
#include "model/describe.h"
#include "model/print.h"

/* ---- Counting -------------------------------------------------------------------------------- */

static uint32_t count_op(const rush_model *m, uint32_t op, const rush_file_instr **first) {
  uint32_t n = 0;
  *first = NULL;
  for (uint32_t i = 0; i < m->n_instrs; i++) {
    if (m->instrs[i].opcode != RUSH_OPCODE_OP || m->instrs[i].op != op) continue;
    if (n++ == 0) *first = m->instrs + i;
  }
  return n;
}

static uint64_t tensor_bytes(const rush_file_tensor *t) {
  int64_t numel = 0;
  rush_numel(t->rank, t->sizes, &numel);
  return (uint64_t)numel * rush_dtype_size((rush_dtype)t->dtype);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void rush_json_string(rush_text *t, const rush_model *m, uint32_t string) {
  const char *s = rush_string(m, string);
  rush_text_json(t, s, strlen(s));
}

void rush_json_type(rush_text *t, const rush_model *m, uint32_t type) {
  rush_text_add(t, "\"");
  rush_print_type(
      t, m, type); /* no character of it needs escaping but in class names, which are identifiers */
  rush_text_add(t, "\"");
}

static void json_shape(rush_text *t, const rush_file_hint *h) {
  if (!h || h->rank == 255) {
    rush_text_add(t, "null");
    return;
  }
  rush_text_add(t, "[");
  for (int d = 0; d < h->rank; d++) {
    if (h->sizes[d] < 0) {
      rush_text_add(t, "%snull", d ? "," : "");
    } else {
      rush_text_add(t, "%s%lld", d ? "," : "", (long long)h->sizes[d]);
    }
  }
  rush_text_add(t, "]");
}

static void json_ports(rush_text *t, const rush_model *m, uint32_t first, uint32_t n) {
  rush_text_add(t, "[");
  for (uint32_t k = 0; k < n; k++) {
    const rush_file_port *p = m->ports + first + k;
    const rush_file_hint *h = p->hint == RUSH_NONE ? NULL : m->hints + p->hint;
    rush_text_add(t, "%s{\"name\":", k ? "," : "");
    rush_json_string(t, m, p->name);
    rush_text_add(t, ",\"type\":");
    rush_json_type(t, m, p->type);
    if (h && h->dtype != RUSH_DTYPE_UNKNOWN) {
      rush_text_add(t, ",\"dtype\":\"%s\"", rush_dtype_name(h->dtype));
    } else {
      rush_text_add(t, ",\"dtype\":null");
    }
    rush_text_add(t, ",\"shape\":");
    json_shape(t, h);
    rush_text_add(t, ",\"optional\":%s}", p->initial == RUSH_NONE ? "false" : "true");
  }
  rush_text_add(t, "]");
}

static void json_ops(rush_text *t, const rush_model *m, bool missing) {
  const rush_file_instr *first;
  bool comma = false;
  rush_text_add(t, "[");
  for (uint32_t i = 0; i < m->n_ops; i++) {
    uint32_t n = count_op(m, i, &first);
    if (missing && m->ops[i].op) continue;
    rush_text_add(t, "%s{\"name\":", comma ? "," : "");
    comma = true;
    rush_json_string(t, m, m->file_ops[i].name);
    rush_text_add(t, ",\"count\":%u", n);
    if (!missing && m->ops[i].op && (m->ops[i].op->flags & RUSH_OP_EXTERNAL)) {
      rush_text_add(t, ",\"schema\":");
      rush_text_json(t, m->ops[i].op->schema, strlen(m->ops[i].op->schema));
    }
    if (missing) {
      rush_text_add(t, ",\"schema\":");
      rush_json_string(t, m, m->file_ops[i].schema);
      bool known = first && first->source < m->n_sources;
      rush_text_add(t, ",\"file\":");
      rush_json_string(t, m, known ? m->sources[first->source].file : RUSH_NONE);
      rush_text_add(t, ",\"line\":%u", known ? m->sources[first->source].line : 0);
    }
    rush_text_add(t, "}");
  }
  rush_text_add(t, "]");
}

static void json_weights(rush_text *t, const rush_model *m) {
  char shape[RUSH_SHAPE_TEXT];
  bool comma = false;
  rush_text_add(t, "[");
  for (uint32_t i = 0; i < m->n_tensors; i++) {
    const rush_file_tensor *r = m->tensors + i;
    if (r->storage == RUSH_NONE) continue;
    rush_text_add(t, "%s{\"name\":", comma ? "," : "");
    comma = true;
    rush_json_string(t, m, r->name);
    rush_text_add(t, ",\"dtype\":\"%s\",\"shape\":%s,\"bytes\":%llu}", rush_dtype_name(r->dtype),
                  rush_shape_text(r->rank, r->sizes, shape), (unsigned long long)tensor_bytes(r));
  }
  rush_text_add(t, "]");
}

static void json_method(rush_text *t, const rush_model *m, const rush_file_method *f) {
  rush_text_add(t, "{\"name\":");
  rush_json_string(t, m, f->name);
  rush_text_add(t, ",\"inputs\":");
  json_ports(t, m, f->inputs, f->n_inputs);
  rush_text_add(t, ",\"outputs\":");
  json_ports(t, m, f->outputs, f->n_outputs);
  rush_text_add(t, ",\"result\":");
  rush_json_type(t, m, f->result);
  rush_text_add(t, ",\"instructions\":%u}", f->n_instrs);
}

static void describe_json(rush_text *t, const rush_model *m) {
  rush_text_add(t,
                "{\"format\":%d,\"bytes\":%llu,\"headBytes\":%zu,\"weightsBytes\":%llu,\"inputs\":",
                RUSH_FORMAT_VERSION, (unsigned long long)m->total_bytes, m->head_bytes,
                (unsigned long long)(m->total_bytes - m->head_bytes));
  json_ports(t, m, m->methods->inputs, m->methods->n_inputs);
  rush_text_add(t, ",\"outputs\":");
  json_ports(t, m, m->methods->outputs, m->methods->n_outputs);
  rush_text_add(t, ",\"methods\":[");
  for (uint32_t f = 0; f < m->n_methods; f++) {
    if (f) rush_text_add(t, ",");
    json_method(t, m, m->methods + f);
  }
  rush_text_add(t, "],\"operators\":");
  json_ops(t, m, false);
  rush_text_add(t, ",\"missing\":");
  json_ops(t, m, true);
  rush_text_add(t, ",\"attributes\":[");
  for (uint32_t i = 0; i < m->n_attributes; i++) {
    rush_text_add(t, "%s{\"name\":", i ? "," : "");
    rush_json_string(t, m, m->attributes[i].name);
    rush_text_add(t, ",\"type\":");
    rush_json_type(t, m, m->attributes[i].type);
    rush_text_add(t, "}");
  }
  rush_text_add(t, "],\"weights\":");
  json_weights(t, m);
  rush_text_add(t, ",\"tests\":%u,\"meta\":{", m->n_tests);
  for (uint32_t i = 0; i < m->n_meta; i++) {
    if (i) rush_text_add(t, ",");
    rush_json_string(t, m, m->meta[i].key);
    rush_text_add(t, ":");
    rush_json_string(t, m, m->meta[i].value);
  }
  rush_text_add(t, "}}");
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void text_ports(rush_text *t, const rush_model *m, const char *title, uint32_t first,
                       uint32_t n) {
  if (n) rush_text_add(t, "  %s\n", title);
  for (uint32_t k = 0; k < n; k++) {
    const rush_file_port *p = m->ports + first + k;
    rush_text_add(t, "    %s : ", rush_string(m, p->name));
    rush_print_type(t, m, p->type);
    if (p->hint != RUSH_NONE) {
      const rush_file_hint *h = m->hints + p->hint;
      if (h->dtype != RUSH_DTYPE_UNKNOWN) rush_text_add(t, " %s", rush_dtype_name(h->dtype));
      if (h->rank != 255) rush_text_add(t, "[");
      for (int d = 0; h->rank != 255 && d < h->rank; d++) {
        if (h->sizes[d] < 0) {
          rush_text_add(t, "%s?", d ? ", " : "");
        } else {
          rush_text_add(t, "%s%lld", d ? ", " : "", (long long)h->sizes[d]);
        }
      }
      if (h->rank != 255) rush_text_add(t, "]");
    }
    if (p->initial != RUSH_NONE) {
      rush_text_add(t, " = ");
      rush_print_constant(t, m, p->initial);
    }
    rush_text_add(t, "\n");
  }
}

static void text_ops(rush_text *t, const rush_model *m) {
  const rush_file_instr *first;
  rush_text_add(t, "operators\n");
  for (uint32_t i = 0; i < m->n_ops; i++) {
    rush_text_add(t, "  %5u  %s%s\n", count_op(m, i, &first), rush_string(m, m->file_ops[i].name),
                  m->ops[i].op ? "" : "   (this runtime lacks it)");
  }
}

static void describe_text(rush_text *t, const rush_model *m) {
  rush_text_add(t,
                "%llu bytes: head %zu, %llu in %u tensors, those of %u test vectors among them\n",
                (unsigned long long)m->total_bytes, m->head_bytes,
                (unsigned long long)(m->total_bytes - m->head_bytes), m->n_tensors, m->n_tests);
  for (uint32_t i = 0; i < m->n_meta; i++)
    rush_text_add(t, "%s: %s\n", rush_string(m, m->meta[i].key), rush_string(m, m->meta[i].value));
  for (uint32_t f = 0; f < m->n_methods; f++) {
    rush_text_add(t, "method %s\n", rush_string(m, m->methods[f].name));
    text_ports(t, m, "inputs", m->methods[f].inputs, m->methods[f].n_inputs);
    text_ports(t, m, "outputs", m->methods[f].outputs, m->methods[f].n_outputs);
  }
  for (uint32_t i = 0; i < m->n_attributes; i++) {
    rush_text_add(t, "%s  %s : ", i ? "" : "attributes\n", rush_string(m, m->attributes[i].name));
    rush_print_type(t, m, m->attributes[i].type);
    rush_text_add(t, "\n");
  }
  text_ops(t, m);
  for (uint32_t f = 0; f < m->n_methods; f++) {
    rush_text_add(t, "\n");
    rush_print_method(t, m, m->methods + f);
  }
}

/* The tree, then the texts of `kind`, each below the name of its method: "# layer.0.forward". */
static void describe_torch(rush_text *t, const rush_model *m, rush_text_kind kind) {
  for (uint32_t i = 0; i < m->n_texts; i++) {
    if (m->texts[i].kind == RUSH_TEXT_TREE)
      rush_text_add(t, "%s\n", rush_string(m, m->texts[i].text));
  }
  for (uint32_t i = 0; i < m->n_texts; i++) {
    if (m->texts[i].kind != (uint32_t)kind) continue;
    const char *module = rush_string(m, m->texts[i].module), *colon = strchr(module, ':');
    int path = colon ? (int)(colon - module) : (int)strlen(module);
    rush_text_add(t, "\n# %.*s%s%s\n%s", path, module, path ? "." : "",
                  colon ? colon + 1 : "forward", rush_string(m, m->texts[i].text));
  }
  if (m->n_texts == 0)
    rush_text_add(t,
                  "the file holds none of PyTorch's texts: it was exported without source lines\n");
}

rush_status rush_model_describe(rush_ctx *ctx, const rush_model *m, rush_describe_form form,
                                char **text, size_t *size) {
  rush_text t = {.ctx = ctx};
  switch (form) {
    case RUSH_DESCRIBE_JSON:
      describe_json(&t, m);
      break;
    case RUSH_DESCRIBE_GRAPH:
      rush_describe_graph(&t, m);
      break;
    case RUSH_DESCRIBE_TORCH_GRAPH:
      describe_torch(&t, m, RUSH_TEXT_GRAPH);
      break;
    case RUSH_DESCRIBE_TORCH_CODE:
      describe_torch(&t, m, RUSH_TEXT_CODE);
      break;
    default:
      describe_text(&t, m);
  }
  return rush_text_take(&t, text, size);
}

static rush_status print_type(rush_ctx *ctx, const rush_model *m, uint32_t type, char **text,
                              size_t *size) {
  rush_text t = {.ctx = ctx};
  rush_print_type_with_fields(&t, m, type);
  return rush_text_take(&t, text, size);
}

rush_status rush_model_input_type(rush_ctx *ctx, const rush_model *m, size_t method, size_t input,
                                  char **text, size_t *size) {
  *text = NULL;
  *size = 0;
  RUSH_CHECK(ctx, method < m->n_methods && input < m->methods[method].n_inputs,
             RUSH_ERR_BAD_ARGUMENT, "method %zu has no input %zu", method, input);
  return print_type(ctx, m, m->ports[m->methods[method].inputs + input].type, text, size);
}

rush_status rush_model_result_type(rush_ctx *ctx, const rush_model *m, size_t method, char **text,
                                   size_t *size) {
  *text = NULL;
  *size = 0;
  RUSH_CHECK(ctx, method < m->n_methods, RUSH_ERR_BAD_ARGUMENT,
             "method %zu does not exist, the model has %u", method, m->n_methods);
  return print_type(ctx, m, m->methods[method].result, text, size);
}
