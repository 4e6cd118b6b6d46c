/* In place of XNNPACK's reference code for unary and binary operators: creating an operator that
 * has no kernel fails with xnn_status_unsupported_parameter. */
#include <stddef.h>

#include "xnnpack/reference-config.h"

const struct xnn_unary_elementwise_config *xnn_init_unary_reference_config(
    enum xnn_unary_operator op, enum xnn_datatype in, enum xnn_datatype out) {
  (void)op, (void)in, (void)out;
  return NULL;
}

const struct xnn_binary_elementwise_config *xnn_init_binary_reference_config(
    enum xnn_binary_operator op, enum xnn_datatype type) {
  (void)op, (void)type;
  return NULL;
}
