/* The parts of rush_model_describe. */
#ifndef RUSH_DESCRIBE_H
#define RUSH_DESCRIBE_H

#include "model/model.h"

/* How often each operator is called, and the first instruction that calls it. */
typedef struct rush_op_use {
  uint32_t count, first;
} rush_op_use;

/* Returns the index of the first constraint of this port or of a later one. */
uint32_t rush_first_constraint(const rush_model *m, uint32_t port);
/* Writes RUSH_DESCRIBE_JSON. */
void rush_describe_json(rush_text *t, const rush_model *m, const rush_op_use *uses);
/* Writes RUSH_DESCRIBE_GRAPH. */
void rush_describe_graph(rush_text *t, const rush_model *m);

#endif
