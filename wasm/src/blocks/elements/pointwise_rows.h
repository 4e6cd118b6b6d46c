/* The loops of a pointwise call: rows of elements, converted as its body wants them. */
#ifndef RUSH_POINTWISE_ROWS_H
#define RUSH_POINTWISE_ROWS_H

#include "blocks/elements/pointwise.h"

/* Operand 0 is the destination, 1.. are the inputs. */
enum { RUSH_PW_LANES = RUSH_PW_OPERANDS + 1, RUSH_PW_BYTES = 2048 /* of a buffer */ };

typedef struct rush_pw_run {
  rush_pw_body *body;
  rush_pw_params *p;
  int n;                               /* inputs */
  int64_t block;                       /* elements at a time: as many as fit into a buffer */
  rush_dtype memory[RUSH_PW_LANES];    /* dtype of the elements in memory */
  rush_dtype body_type[RUSH_PW_LANES]; /* dtype of the body */
  rush_dtype common;
  /* The common dtype cannot hold this operand, which is converted to it before the body's dtype: a
   * 0-d int64 beside uint8 elements, which wraps. */
  bool wraps[RUSH_PW_LANES];
  const char *held[RUSH_PW_LANES]; /* the element that fills buffer k, or NULL */
  char *at[RUSH_PW_LANES];
  int64_t stride[RUSH_PW_LANES]; /* bytes */
  _Alignas(16) char buffer[RUSH_PW_LANES][RUSH_PW_BYTES];
  _Alignas(16) char spare[RUSH_PW_BYTES];
  _Alignas(16) char raw[RUSH_PW_LANES][RUSH_PW_BYTES]; /* of run_short_rows */
} rush_pw_run;

/* Computes all elements of dst, which has some, on all threads of the context. `r` says what the
 * body reads and writes; scalar[k] is operand k if it is not a tensor. */
void rush_pw_run_all(rush_ctx *ctx, rush_pw_run *r, const rush_pw_operands *o,
                     const int64_t scalar[][2], rush_tensor *dst);

#endif
