/* The operators that a build of the runtime carries. (One alone may stand in its own file.) */
#include <rushlight/op.h>

extern const rush_custom_op warp_op;
RUSH_LINK_OPS(&warp_op);
