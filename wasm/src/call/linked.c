/* The operators that a build carries besides Rushlight's: none, unless the program defines this
 * table itself (rushlight_add_operators in CMake does), and then the linker never takes this file
 * from the archive. */
#include "call/call.h"

const rush_custom_op *const rush_linked_ops[] = {NULL};
