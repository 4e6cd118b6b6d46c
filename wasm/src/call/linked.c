/* The custom operators that are linked into a build. A program can define this table itself
 * (rushlight_add_operators in CMake does). The linker then does not take this file, with its empty
 * table, from the archive. */
#include "call/call.h"

const rush_custom_op *const rush_linked_ops[] = {NULL};
