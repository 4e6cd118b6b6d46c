/* Recurrent cells, float32 and float64, as RNN.cpp of PyTorch computes them. Matrices here are rows
 * of a batch: x [n][in], gates [n][kinds of gates * hidden], h [n][out], c [n][hidden], all dense.
 * `out` is `hidden`, but for an LSTM with a projection. */
#ifndef RUSH_RECURRENT_CELL_H
#define RUSH_RECURRENT_CELL_H

#include "call/call.h"

typedef enum rush_cell_kind {
  RUSH_CELL_TANH,
  RUSH_CELL_RELU,
  RUSH_CELL_GRU,
  RUSH_CELL_LSTM,
} rush_cell_kind;

typedef struct rush_cell {
  rush_cell_kind kind;
  const rush_tensor *w_ih, *w_hh; /* [gates * hidden][in], [gates * hidden][out] */
  const rush_tensor *b_ih, *b_hh; /* [gates * hidden], or NULL */
  const rush_tensor *w_hr;        /* [out][hidden] of a projection, or NULL */
  void *packed;                   /* w_hh and b_hh as gemm.h packs them, or NULL */
} rush_cell;

/* How many gates the kind has: 1, 3 or 4. */
int64_t rush_cell_gates(rush_cell_kind kind);
/* Refuses weights of another dtype or of sizes that do not fit. */
rush_status rush_cell_check(rush_ctx *ctx, const rush_cell *cell, rush_dtype dtype, int64_t in,
                            int64_t hidden, int64_t out);
/* gates = x * w_ih + b_ih, of all steps at once. */
rush_status rush_cell_input(rush_heap *heap, const rush_cell *cell, int64_t n, const void *x,
                            void *gates);
/* Packs w_hh and b_hh of a float32 cell into `to`, for many steps; rush_cell_packed says into how
 * many bytes, or false where there cannot be so many. */
bool rush_cell_packed(const rush_cell *cell, size_t *bytes);
rush_status rush_cell_pack(rush_call *c, rush_cell *cell, void *to);
/* One step of n rows: h and c (LSTM only) become the next state. Uses up `gates`; `room` is as
 * large. */
rush_status rush_cell_step(rush_heap *heap, const rush_cell *cell, int64_t n, void *gates,
                           void *room, void *h, void *c);
/* What a step, of float32, makes of the gates of the input and of the state, [n][gates * hidden] both. Uses up
 * `gates`. */
void rush_cell_state(rush_cell_kind kind, int64_t n, int64_t hidden, float *gates,
                     const float *of_state, float *h, float *c);

#endif
