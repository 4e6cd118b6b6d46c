/* Pieces of JSON that describe.c and describe_graph.c share. */
#ifndef RUSH_DESCRIBE_H
#define RUSH_DESCRIBE_H

#include "model/model.h"

/* A string of the file as a JSON literal; "" for RUSH_NONE. */
void rush_json_string(rush_text *t, const rush_model *m, uint32_t string);
/* A type as a JSON literal. */
void rush_json_type(rush_text *t, const rush_model *m, uint32_t type);
/* RUSH_DESCRIBE_GRAPH. */
void rush_describe_graph(rush_text *t, const rush_model *m);

#endif
