/* Describes a file as text. The C++ tool, Python and JS all use this description. describe_json.c
 * and describe_graph.c write it as JSON. */
#include "model/describe.h"
#include "model/print.h"

/* ---- Counting -------------------------------------------------------------------------------- */

static rush_status count_ops(rush_ctx *ctx, const rush_model *m, rush_op_use **out) {
  RUSH_TRY(rush_calloc(ctx, m->n_ops, sizeof **out, (void **)out));
  for (uint32_t i = 0; i < m->n_instrs; i++) {
    const rush_file_instr *in = m->instrs + i;
    if (in->opcode == RUSH_OPCODE_OP && (*out)[in->op].count++ == 0) (*out)[in->op].first = i;
  }
  return RUSH_OK;
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* Writes, for example, ", size 0 = batch, 1 to 8". */
static void text_constraints(rush_text *t, const rush_model *m, uint32_t port) {
  for (uint32_t i = rush_first_constraint(m, port);
       i < m->n_constraints && m->constraints[i].port == port; i++) {
    const rush_file_constraint *p = m->constraints + i;
    rush_text_add(t, ", size %u =", p->dim);
    if (p->name != RUSH_NONE) {
      rush_text_add(t, " ");
      rush_print_name(t, m, p->name);
      rush_text_add(t, ",");
    }
    if (p->max == INT64_MAX)
      rush_text_add(t, " %lld or more", (long long)p->min);
    else if (p->max == p->min)
      rush_text_add(t, " %lld", (long long)p->min);
    else
      rush_text_add(t, " %lld to %lld", (long long)p->min, (long long)p->max);
  }
}

static void text_ports(rush_text *t, const rush_model *m, const char *title, uint32_t first,
                       uint32_t n) {
  if (n) rush_text_add(t, "  %s\n", title);
  for (uint32_t k = 0; k < n && !t->failed; k++) {
    const rush_file_port *p = m->ports + first + k;
    rush_text_add(t, "    ");
    rush_print_name(t, m, p->name);
    rush_text_add(t, " : ");
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
    text_constraints(t, m, first + k);
    if (p->initial != RUSH_NONE) {
      rush_text_add(t, " = ");
      rush_print_constant(t, m, p->initial);
    }
    rush_text_add(t, "\n");
  }
}

static void text_assets(rush_text *t, const rush_model *m) {
  for (uint32_t i = 0; i < m->n_assets && !t->failed; i++) {
    rush_text_add(t, "%s  ", i ? "" : "assets\n");
    rush_print_name(t, m, m->assets[i].name);
    rush_text_add(t, " : %llu bytes\n", (unsigned long long)m->assets[i].bytes);
  }
}

static void text_ops(rush_text *t, const rush_model *m, const rush_op_use *uses) {
  rush_text_add(t, "operators\n");
  for (uint32_t i = 0; i < m->n_ops && !t->failed; i++) {
    rush_text_add(t, "  %5u  ", uses[i].count);
    rush_print_name(t, m, m->file_ops[i].name);
    rush_text_add(t, "%s\n", m->ops[i].op ? "" : "   (this runtime lacks it)");
  }
}

static void describe_text(rush_text *t, const rush_model *m, const rush_op_use *uses) {
  rush_text_add(t,
                "%llu bytes: head %zu, tensors %llu\n"
                "tensors: %u, those of test vectors among them\ntest vectors: %u\n",
                (unsigned long long)m->total_bytes, m->head_bytes,
                (unsigned long long)(m->total_bytes - m->head_bytes), m->n_tensors, m->n_tests);
  for (uint32_t i = 0; i < m->n_meta; i++) {
    rush_print_name(t, m, m->meta[i].key);
    rush_text_add(t, ": ");
    rush_print_name(t, m, m->meta[i].value);
    rush_text_add(t, "\n");
  }
  for (uint32_t f = 0; f < m->n_methods && !t->failed; f++) {
    rush_text_add(t, "method ");
    rush_print_name(t, m, m->methods[f].name);
    rush_text_add(t, "\n");
    text_ports(t, m, "inputs", m->methods[f].inputs, m->methods[f].n_inputs);
    text_ports(t, m, "outputs", m->methods[f].outputs, m->methods[f].n_outputs);
  }
  for (uint32_t i = 0; i < m->n_attributes && !t->failed; i++) {
    rush_text_add(t, "%s  ", i ? "" : "attributes\n");
    rush_print_name(t, m, m->attributes[i].name);
    rush_text_add(t, " : ");
    rush_print_type(t, m, m->attributes[i].type);
    rush_text_add(t, "\n");
  }
  text_assets(t, m);
  text_ops(t, m, uses);
  for (uint32_t f = 0; f < m->n_methods && !t->failed; f++) {
    rush_text_add(t, "\n");
    rush_print_method(t, m, m->methods + f);
  }
}

/* Writes the tree, then the texts of `kind`, each below the name of its method: "#
 * layer.0.forward". */
static void describe_torch(rush_text *t, const rush_model *m, rush_text_kind kind) {
  for (uint32_t i = 0; i < m->n_texts; i++) {
    if (m->texts[i].kind == RUSH_TEXT_TREE)
      rush_text_add(t, "%s\n", rush_string(m, m->texts[i].text));
  }
  for (uint32_t i = 0; i < m->n_texts && !t->failed; i++) {
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

static void describe(rush_text *t, const rush_model *m, rush_describe_form form,
                     const rush_op_use *uses) {
  switch (form) {
    case RUSH_DESCRIBE_JSON:
      rush_describe_json(t, m, uses);
      return;
    case RUSH_DESCRIBE_GRAPH:
      rush_describe_graph(t, m);
      return;
    case RUSH_DESCRIBE_TORCH_GRAPH:
      describe_torch(t, m, RUSH_TEXT_GRAPH);
      return;
    case RUSH_DESCRIBE_TORCH_CODE:
      describe_torch(t, m, RUSH_TEXT_CODE);
      return;
    default:
      describe_text(t, m, uses);
  }
}

rush_status rush_model_describe(rush_ctx *ctx, const rush_model *m, rush_describe_form form,
                                char **text, size_t *size) {
  rush_text t = {.ctx = ctx};
  rush_op_use *uses;
  *text = NULL;
  *size = 0;
  RUSH_TRY(count_ops(ctx, m, &uses));
  const size_t cap = rush_limit_memory(ctx, rush_memory_allowance(m->head_bytes));
  describe(&t, m, form, uses);
  rush_status st = rush_text_take(&t, text, size);
  rush_restore_limit(ctx, cap);
  rush_release(ctx, uses, m->n_ops * sizeof *uses);
  return st;
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
