/* Printing functions that describe.c and messages share. */
#ifndef RUSH_PRINT_H
#define RUSH_PRINT_H

#include "model/model.h"

/* Prints a string of the file on one line, with control characters escaped as in JSON. */
void rush_print_name(rush_text *t, const rush_model *m, uint32_t string);
/* Prints a type as TorchScript graphs do: "Tensor", "int[]", "(Tensor, int?)", "Dict(str, Tensor)".
 * In names of classes and fields, "_" replaces characters that no name may have, so that the text
 * can be parsed again. */
void rush_print_type(rush_text *t, const rush_model *m, uint32_t type);
/* Prints the fields of named tuples as well: "Answer(first : Tensor, count : int)". */
void rush_print_type_with_fields(rush_text *t, const rush_model *m, uint32_t type);
/* Prints a constant: 1, 0.5, "text", [1, 2], <conv1.weight: float32[32, 3, 3, 3]>. */
void rush_print_constant(rush_text *t, const rush_model *m, uint32_t constant);
/* Prints one method in a form similar to TorchScript graphs. */
void rush_print_method(rush_text *t, const rush_model *m, const rush_file_method *f);

#endif
