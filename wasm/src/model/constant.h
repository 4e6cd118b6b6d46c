/* The file's constants as values. */
#ifndef RUSH_CONSTANT_H
#define RUSH_CONSTANT_H

#include "model/model.h"

/* Values of the constants that the program uses (None in the place of the others), on borrowed
 * storages. `storages` holds one pointer per storage of the file, zeroed by the caller; on return
 * those that are in use are set and owned by the tensors among the values. On failure what was made
 * so far stays in `values` for rush_constants_drop. */
rush_status rush_constants_make(rush_heap *heap, const rush_model *m, rush_value *values,
                                rush_storage **storages);
void rush_constants_drop(rush_heap *heap, const rush_model *m, rush_value *values);

/* A deep copy of one constant on storages of its own, so that it may be written. Tensors with one
 * storage in the file share one copy: `copies` holds one pointer per storage, zeroed before the
 * first call of those that belong together. */
rush_status rush_constant_copy(rush_heap *heap, const rush_model *m, uint32_t constant,
                               rush_storage **copies, rush_value *out);

/* The default values of a schema's arguments; None where there is no default. */
rush_status rush_defaults_make(rush_heap *heap, const rush_schema *schema, rush_value *out);

#endif
