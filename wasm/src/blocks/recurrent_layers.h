/* Recurrent layers over sequences, padded and packed, in one direction or two: what their operators share, whatever
 * their weights are. */
#ifndef RUSH_RECURRENT_LAYERS_H
#define RUSH_RECURRENT_LAYERS_H

#include "blocks/recurrent_cell.h"

/* Steps of a sequence: step t has batches[t] rows, which never become more; all rows follow each
 * other. A padded sequence has the same number in each. */
typedef struct rush_sequence {
  int64_t steps, rows, batch; /* batch: that of the first step */
  const int64_t *batches;     /* NULL: `batch` each */
} rush_sequence;

/* Argument 0 as a sequence: [steps][batch][features], or [batch][steps][features]. */
rush_status rush_sequence_padded(rush_call *c, bool batch_first, rush_sequence *out);
/* Argument 0 as the rows [rows][features] of one whose batches are batch_sizes. */
rush_status rush_sequence_packed(rush_call *c, const rush_tensor *batch_sizes, rush_sequence *out);

typedef struct rush_recurrent {
  rush_cell_kind kind;
  int64_t layers, directions;
  bool train;
  double dropout; /* between layers, in training */
  /* Set by rush_recurrent_state. */
  int64_t hidden, out;
  rush_tensor *h, *c; /* results: [layers * directions][batch][out or hidden]; c of an LSTM only */
  /* Sets the gates [rows][gates * hidden] of cell `index`: what its weights make of x [rows][features]; it is at
   * work then. */
  rush_status (*begin)(rush_call *c, struct rush_recurrent *n, const rush_sequence *s,
                       int64_t index, const rush_tensor *x, void *gates);
  /* Some rows of the cell at work take a step: as rush_cell_step. */
  rush_status (*step)(rush_call *c, const struct rush_recurrent *n, int64_t rows, void *gates,
                      void *h, void *state);
} rush_recurrent;

/* Results 1 and 2, of an LSTM, are copies of the first states at argument `at`: a list of two for an LSTM. */
rush_status rush_recurrent_state(rush_call *c, rush_recurrent *n, const rush_sequence *s,
                                 uint32_t at);
/* Runs all layers: they become the last states, result 0 is what the last layer gives. */
rush_status rush_recurrent_run(rush_call *c, rush_recurrent *n, const rush_sequence *s,
                               bool batch_first);

#endif
