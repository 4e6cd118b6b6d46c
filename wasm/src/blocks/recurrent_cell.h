/* Recurrent cells in float32 and float64. Follows aten/src/ATen/native/RNN.cpp. Matrices are dense
 * and have one row per sample: x [n][in], gates [n][gates * hidden], h [n][out], c [n][hidden].
 * `out` equals `hidden`, except for an LSTM with a projection. */
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
  const rush_tensor *w_hr;        /* projection [out][hidden], or NULL */
  void *packed;                   /* w_hh and b_hh, packed as in gemm.h, or NULL */
} rush_cell;

/* Returns the number of gates: 1, 3 or 4. */
int64_t rush_cell_gates(rush_cell_kind kind);
/* Refuses weights with another dtype or with sizes that do not fit. */
rush_status rush_cell_check(rush_ctx *ctx, const rush_cell *cell, rush_dtype dtype, int64_t in,
                            int64_t hidden, int64_t out);
/* Computes gates = x * w_ih^T + b_ih for all steps at once. */
rush_status rush_cell_input(rush_heap *heap, const rush_cell *cell, int64_t n, const void *x,
                            void *gates);
/* rush_cell_pack packs w_hh and b_hh of a float32 cell into `to`, which pays off over many steps.
 * rush_cell_packed computes the size in bytes, or returns false if it overflows. */
bool rush_cell_packed(const rush_cell *cell, size_t *bytes);
rush_status rush_cell_pack(rush_call *c, rush_cell *cell, void *to);
/* Computes one step of n rows, and updates h and c (LSTM only). Overwrites `gates`. `room` is
 * scratch memory of the same size. */
rush_status rush_cell_step(rush_heap *heap, const rush_cell *cell, int64_t n, void *gates,
                           void *room, void *h, void *c);
/* Computes the elementwise part of a step in float32 from the gates of the input and of the state,
 * both [n][gates * hidden]. Overwrites `gates`. */
rush_status rush_cell_state(rush_ctx *ctx, rush_cell_kind kind, int64_t n, int64_t hidden,
                            float *gates, const float *of_state, float *h, float *c);

#endif
