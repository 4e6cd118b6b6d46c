/* Creates values from the file's constants. */
#ifndef RUSH_CONSTANT_H
#define RUSH_CONSTANT_H

#include "model/model.h"

/* Creates the constants that the program uses (None in place of the others), on borrowed storages.
 * `storages` holds one pointer per storage of the file, zeroed by the caller. On return, those in
 * use are set, and the tensors among the values own them. On failure, `values` keeps what was
 * created so far, for rush_constants_drop. */
rush_status rush_constants_make(rush_heap *heap, const rush_model *m, rush_value *values,
                                rush_storage **storages);
void rush_constants_drop(rush_heap *heap, const rush_model *m, rush_value *values);

/* Creates a deep copy of one constant on its own storages, which may be written. Tensors that share
 * a storage in the file share one copy: `copies` holds one pointer per storage, zeroed before the
 * first of several related calls. */
rush_status rush_constant_copy(rush_heap *heap, const rush_model *m, uint32_t constant,
                               rush_storage **copies, rush_value *out);

/* Creates the default values of a schema's arguments, or None if there is no default. */
rush_status rush_defaults_make(rush_heap *heap, const rush_schema *schema, rush_value *out);

#endif
