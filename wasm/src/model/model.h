/* A loaded model: the checked head of the file, and everything for running it that can be computed
 * once. It is immutable after loading. */
#ifndef RUSH_MODEL_H
#define RUSH_MODEL_H

#include "call/schema.h"

/* An operator record of the file, after resolution. */
typedef struct rush_model_op {
  const rush_op *op; /* NULL if this runtime lacks it */
  rush_op custom;    /* target of `op` for a custom operator */
  bool inplace;      /* called as NAME_ */
  bool variadic;
  bool widens; /* tensors of rare dtypes are widened: call/widen.h */
  /* Resolves operands that overlap the written tensor, or NULL if the operator writes none. */
  const struct rush_overlap *overlap;
  uint32_t dtype_arg; /* if `widens`: index of its argument `dtype`, or 0 */
  rush_schema schema;
  uint32_t defaults; /* index of its first default value among all of the model's */
} rush_model_op;

/* A decoded instruction. */
typedef struct rush_code {
  uint16_t opcode, n_in, n_out;
  uint32_t op, target;
  const uint32_t *operands;     /* n_in inputs, then n_out outputs */
  const uint32_t *result_types; /* n_out types */
  uint32_t drops, n_drops;      /* registers to drop after it, in model->drops */
  /* END_LOOP: the first of them, which are also dropped before the next iteration */
  uint32_t n_inner_drops;
  uint32_t last_use; /* bit i: input i has its last use here */
} rush_code;

typedef struct rush_weight {
  void *raw; /* the allocation, or NULL if the bytes have not arrived or belong to packed weights */
  size_t raw_bytes;
  void *data;             /* aligned to 64 */
  const uint8_t *pattern; /* the eight bytes that a uniform storage repeats, otherwise NULL */
  uint32_t needs;         /* number of uses that read the plain bytes */
  uint32_t readers;   /* number of these uses that can also read packed bytes: RUSH_OP_READS_ROWS */
  uint32_t on_device; /* number of these uses that can also read bytes on the device */
  struct rush_device_weight *moved; /* the bytes, if only the device has them */
} rush_weight;

struct rush_model {
  char *head;
  size_t head_bytes;
  uint64_t total_bytes;

  /* Records in the head, and their numbers. */
  const char *string_bytes;
  const rush_file_string *strings;
  const uint32_t *lists;
  const rush_file_type *types;
  const rush_file_storage *storages;
  const rush_file_tensor *tensors;
  const rush_file_constant *constants;
  const rush_file_op *file_ops;
  const rush_file_attribute *attributes;
  const rush_file_hint *hints;
  const rush_file_port *ports;
  const rush_file_register *registers;
  const uint32_t *operands;
  const rush_file_instr *instrs;
  const rush_file_method *methods;
  const rush_file_uniform *uniform;
  const rush_file_source *sources;
  const rush_file_test *tests;
  const rush_file_meta *meta;
  const rush_file_text *texts;
  const rush_file_traced *traced;
  const rush_file_constraint *constraints;
  const rush_file_measure *measures;
  const rush_file_exact *exact;
  const rush_file_asset *assets;
  uint32_t n_string_bytes, n_strings, n_lists, n_types, n_storages, n_tensors, n_constants, n_ops,
      n_attributes, n_hints, n_ports, n_registers, n_operands, n_instrs, n_methods, n_uniform,
      n_sources, n_tests, n_meta, n_texts, n_traced, n_constraints, n_measures, n_exact, n_assets;

  /* Computed while loading. */
  rush_kinds *type_kinds;  /* per type: kinds of its values */
  bool *constant_used;     /* per constant: used by the program, and not only by a test */
  rush_model_op *ops;      /* n_ops */
  rush_code *code;         /* n_instrs */
  uint32_t *operand_types; /* n_operands: types of the assigned registers */
  uint32_t *drops;         /* n_drops */
  uint32_t n_drops;
  rush_weight *weights; /* n_storages */
  rush_packed **packed; /* n_instrs */
  uint32_t n_missing;   /* number of operators that this runtime lacks */
  uint32_t n_defaults;
  /* The most operands of an instruction, including arguments with defaults. */
  uint32_t max_in, max_out;
};

/* Writes the bytes of a uniform storage. */
rush_status rush_repeat(rush_ctx *ctx, void *data, size_t bytes, const uint8_t pattern[8]);

/* Returns the zero-terminated text of a string index, or "" for RUSH_NONE. */
static inline const char *rush_string(const rush_model *m, uint32_t i) {
  assert(i == RUSH_NONE || i < m->n_strings);
  return i == RUSH_NONE ? "" : m->string_bytes + m->strings[i].offset;
}

/* Returns the kind of a constant that has items (list, tuple, dict, object or enum), or NONE. */
static inline rush_kind rush_const_container(uint32_t kind) {
  switch (kind) {
    case RUSH_CONST_LIST:
      return RUSH_KIND_LIST;
    case RUSH_CONST_TUPLE:
      return RUSH_KIND_TUPLE;
    case RUSH_CONST_DICT:
      return RUSH_KIND_DICT;
    case RUSH_CONST_OBJECT:
      return RUSH_KIND_OBJECT;
    case RUSH_CONST_ENUM:
      return RUSH_KIND_ENUM;
    default:
      return RUSH_KIND_NONE;
  }
}
static inline bool rush_const_has_items(uint32_t kind) {
  return rush_const_container(kind) != RUSH_KIND_NONE;
}

/* Returns the kinds that values of a type can have. */
static inline rush_kinds rush_type_kinds(const rush_model *m, uint32_t type) {
  return m->type_kinds[type];
}
/* Computes them for all types. */
rush_status rush_find_type_kinds(rush_ctx *ctx, rush_model *m);
/* Returns whether `v` can have a type of the file. It looks into lists, tuples and dicts. It also
 * returns false after a stop request; rush_take_stop tells the difference. */
bool rush_value_fits(rush_ctx *ctx, const rush_model *m, uint32_t type, const rush_value *v);

/* Returns the location of an instruction, which is counted from the file's first one. */
rush_location rush_location_of(const rush_model *m, uint32_t instr);
/* Prepends "forward, instruction 12 (aten::relu) at model.py:7: " to the context's message, and
 * sets its location. */
rush_status rush_fail_prefix_instr(rush_ctx *ctx, const rush_model *m, uint32_t instr,
                                   rush_status status);

/* ---- Steps of loading, in the order in which load.c calls them ------------------------------- */

/* Checks the first RUSH_HEADER_BYTES of model->head. */
rush_status rush_header_check(rush_ctx *ctx, const rush_model *m);
/* Checks the section table and the sections, and sets the record pointers. */
rush_status rush_head_open(rush_ctx *ctx, rush_model *m);
/* Checks every record except instructions. */
rush_status rush_head_check(rush_ctx *ctx, rush_model *m);
/* Resolves operators, checks and decodes instructions, and computes lifetimes. */
rush_status rush_code_build(rush_ctx *ctx, rush_model *m);
/* Fails with UNSUPPORTED and lists all operators that are missing. */
rush_status rush_ops_present(rush_ctx *ctx, const rush_model *m);

/* Reports a broken rule: "instrs[3] at byte 1234: ...". */
rush_status rush_fail_record(rush_ctx *ctx, const rush_model *m, uint32_t section, uint32_t index,
                             const char *fmt, ...) RUSH_PRINTF(5, 6);

#endif
