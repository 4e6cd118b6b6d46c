/* A loaded model: the file's head, checked, plus what running it needs that can be worked out once.
 * Immutable after loading. */
#ifndef RUSH_MODEL_H
#define RUSH_MODEL_H

#include "call/schema.h"

/* An operator record of the file, resolved. */
typedef struct rush_model_op {
  const rush_op *op; /* NULL: this runtime lacks it */
  rush_op custom;    /* what `op` points to, for an operator of the user's */
  bool inplace;      /* called as NAME_ */
  bool variadic;
  bool widens; /* sees no rare dtype: call/widen.h */
  /* Of one that writes: looks for operands that share memory with that; or NULL. */
  const struct rush_overlap *overlap;
  uint32_t dtype_arg; /* of one that widens: where its argument `dtype` is, else 0 */
  rush_schema schema;
  uint32_t defaults; /* the first of its arguments' default values among all of the model's */
} rush_model_op;

/* An instruction, decoded. */
typedef struct rush_code {
  uint16_t opcode, n_in, n_out;
  uint32_t op, target;
  const uint32_t *operands;     /* n_in inputs, n_out outputs */
  const uint32_t *result_types; /* n_out */
  uint32_t drops, n_drops;      /* registers to drop afterwards, in model->drops */
  uint32_t n_inner_drops; /* END_LOOP: so many of them (the first) also before the next iteration */
  uint32_t last_use;      /* bit i: input i is not read afterwards */
} rush_code;

typedef struct rush_weight {
  void *raw; /* as allocated; NULL where the bytes are or go into packed weights (or have not
                arrived) */
  size_t raw_bytes;
  void *data;       /* aligned to 64 */
  uint32_t needs;   /* how many uses read the plain bytes, */
  uint32_t readers; /* of these so many that can do with packed ones: RUSH_OP_READS_ROWS */
} rush_weight;

struct rush_model {
  char *head;
  size_t head_bytes;
  uint64_t total_bytes;

  /* Records in the head, and how many. */
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
  const rush_file_source *sources;
  const rush_file_test *tests;
  const rush_file_meta *meta;
  const rush_file_text *texts;
  const rush_file_traced *traced;
  const rush_file_constraint *constraints;
  const rush_file_measure *measures;
  const rush_file_exact *exact;
  uint32_t n_string_bytes, n_strings, n_lists, n_types, n_storages, n_tensors, n_constants, n_ops,
      n_attributes, n_hints, n_ports, n_registers, n_operands, n_instrs, n_methods, n_sources,
      n_tests, n_meta, n_texts, n_traced, n_constraints, n_measures, n_exact;

  /* Worked out. */
  rush_kinds *type_kinds;  /* per type: what its values can be */
  bool *constant_used;     /* per constant: the program (not only a test) refers to it */
  rush_model_op *ops;      /* n_ops */
  rush_code *code;         /* n_instrs */
  uint32_t *operand_types; /* n_operands: types of the registers that are written */
  uint32_t *drops;         /* n_drops */
  uint32_t n_drops;
  rush_weight *weights; /* n_storages */
  rush_packed **packed; /* n_instrs */
  uint32_t n_missing;   /* operators that this runtime lacks */
  uint32_t n_defaults;
  uint32_t max_in,
      max_out; /* operands of an instruction; arguments with defaults filled in count */
};

/* The zero-terminated text of a string index; "" for RUSH_NONE. */
static inline const char *rush_string(const rush_model *m, uint32_t i) {
  assert(i == RUSH_NONE || i < m->n_strings);
  return i == RUSH_NONE ? "" : m->string_bytes + m->strings[i].offset;
}

/* The kind of a constant that has items: list, tuple, dict, object or enum; NONE for the others. */
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

/* The kinds that a value of a type can have. */
static inline rush_kinds rush_type_kinds(const rush_model *m, uint32_t type) {
  return m->type_kinds[type];
}
/* Works them out for all types. */
rush_status rush_find_type_kinds(rush_ctx *ctx, rush_model *m);
/* Whether `v` can be of a type of the file; looks into lists, tuples and dicts. False also where it
 * was stopped, which rush_take_stop tells. */
bool rush_value_fits(rush_ctx *ctx, const rush_model *m, uint32_t type, const rush_value *v);

/* What is to be said about an instruction, counted from the file's first. */
rush_location rush_location_of(const rush_model *m, uint32_t instr);
/* "forward, instruction 12 (aten::relu) at model.py:7: " into the context's message, and its
 * location. */
rush_status rush_fail_prefix_instr(rush_ctx *ctx, const rush_model *m, uint32_t instr,
                                   rush_status status);

/* ---- Steps of loading (load.c calls them in this order) -------------------------------------- */

/* Checks the first RUSH_HEADER_BYTES of model->head. */
rush_status rush_header_check(rush_ctx *ctx, const rush_model *m);
/* Checks table and sections; fills the record pointers. */
rush_status rush_head_open(rush_ctx *ctx, rush_model *m);
/* Checks every record but instructions. */
rush_status rush_head_check(rush_ctx *ctx, rush_model *m);
/* Resolves operators, checks and decodes instructions, works out lifetimes. */
rush_status rush_code_build(rush_ctx *ctx, rush_model *m);
/* UNSUPPORTED, naming all of them, where operators are missing. */
rush_status rush_ops_present(rush_ctx *ctx, const rush_model *m);

/* A broken rule: "instrs[3] at byte 1234: ..." */
rush_status rush_fail_record(rush_ctx *ctx, const rush_model *m, uint32_t section, uint32_t index,
                             const char *fmt, ...) RUSH_PRINTF(5, 6);

#endif
