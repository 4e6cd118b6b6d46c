/* Lists the operators in a build of the runtime. (A single operator may do so in its own file.) */
#include <rushlight/op.h>

extern const rush_custom_op warp_op;
RUSH_LINK_OPS(&warp_op);
