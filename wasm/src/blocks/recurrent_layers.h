/* Recurrent layers over padded and packed sequences, in one or two directions. All recurrent
 * operators share them, whatever their weight format is. */
#ifndef RUSH_RECURRENT_LAYERS_H
#define RUSH_RECURRENT_LAYERS_H

#include "blocks/recurrent_cell.h"

/* A sequence. Step t has batches[t] rows, which never increase. The rows of all steps are adjacent.
 * A padded sequence has the same number of rows in each step. */
typedef struct rush_sequence {
  int64_t steps, rows, batch; /* batch: rows of the first step */
  const int64_t *batches;     /* NULL if every step has `batch` rows */
} rush_sequence;

/* Reads argument 0 as a sequence [steps][batch][features] or [batch][steps][features]. */
rush_status rush_sequence_padded(rush_call *c, bool batch_first, rush_sequence *out);
/* Reads argument 0 as the rows [rows][features] of a packed sequence with these batch_sizes. */
rush_status rush_sequence_packed(rush_call *c, const rush_tensor *batch_sizes, rush_sequence *out);

typedef struct rush_recurrent {
  rush_cell_kind kind;
  int64_t layers, directions;
  bool train;
  double dropout; /* between layers, in training mode */
  /* Set by rush_recurrent_state. */
  int64_t hidden, out;
  rush_tensor *h, *c; /* results [layers * directions][batch][out or hidden]; c only for an LSTM */
  /* Makes cell `index` the current cell and computes its gates [rows][gates * hidden] from x
   * [rows][features]. */
  rush_status (*begin)(rush_call *c, struct rush_recurrent *n, const rush_sequence *s,
                       int64_t index, const rush_tensor *x, void *gates);
  /* Computes one step of some rows with the current cell, like rush_cell_step. */
  rush_status (*step)(rush_call *c, const struct rush_recurrent *n, int64_t rows, void *gates,
                      void *h, void *state);
} rush_recurrent;

/* Sets result 1, and result 2 of an LSTM, to copies of the initial states. Argument `at` holds
 * them, as a list of two for an LSTM. */
rush_status rush_recurrent_state(rush_call *c, rush_recurrent *n, const rush_sequence *s,
                                 uint32_t at);
/* Runs all layers. Updates the states, and sets result 0 to the output of the last layer. */
rush_status rush_recurrent_run(rush_call *c, rush_recurrent *n, const rush_sequence *s,
                               bool batch_first);

#endif
