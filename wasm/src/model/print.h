/* Pieces of text that describe.c and messages share. */
#ifndef RUSH_PRINT_H
#define RUSH_PRINT_H

#include "model/model.h"

/* A string of the file on one line: control characters are written as JSON has them. */
void rush_print_name(rush_text *t, const rush_model *m, uint32_t string);
/* A type as TorchScript's graphs print it: "Tensor", "int[]", "(Tensor, int?)", "Dict(str,
 * Tensor)". In the names of classes and fields "_" stands for what no name has, so that the text can
 * be read back. */
void rush_print_type(rush_text *t, const rush_model *m, uint32_t type);
/* The same with the fields of named tuples: "Answer(first : Tensor, count : int)". */
void rush_print_type_with_fields(rush_text *t, const rush_model *m, uint32_t type);
/* A constant: 1, 0.5, "text", [1, 2], <conv1.weight: float32[32, 3, 3, 3]>. */
void rush_print_constant(rush_text *t, const rush_model *m, uint32_t constant);
/* One method in a form close to TorchScript's graphs. */
void rush_print_method(rush_text *t, const rush_model *m, const rush_file_method *f);

#endif
