/* Comparing a run with PyTorch's, value by value, to find where they part.
 *
 *   rush_session_trace(session, items, n, rtol, atol);   or rush_session_trace_test(session, test)
 *   rush_session_run(session, ...);                      or begin, step, provide
 *   if (rush_session_trace_end(session, &report) == RUSH_ERR_MISMATCH) puts(rush_ctx_error(ctx));
 *
 * An instruction is paired with a node of PyTorch's graph, as it was before freezing, by the debug
 * handle that the file keeps among its source lines. What the exporter folded or fused is compared
 * where its value comes out. */
#ifndef RUSHLIGHT_TRACE_H
#define RUSHLIGHT_TRACE_H

#include "rushlight.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one run of a node gave in PyTorch: `n` results, borrowed. An operator with fewer results
 * is compared with the first ones, an IF or a LOOP (at its end) where it has as many; with None
 * nothing is compared. */
typedef struct rush_traced {
  uint64_t handle;
  const rush_value *results;
  size_t n;
  const rush_value *exact; /* what it gave in float64, `n` results; NULL where that is not known */
} rush_traced;

/* Compares the next run. The items stay the caller's, until trace_end; by rising handle, of one
 * handle in the order of PyTorch's run. The k-th run of an instruction is compared with its
 * handle's k-th item; where several instructions share a handle (an unrolled loop, some iterations of
 * which may be folded) with the next one that agrees. Values agree by the
 * rule of verdict.h, atol in units of max(1, the tensor's greatest |b|). NO_MEMORY; BAD_ARGUMENT where
 * the items' order is another, or nothing is to be compared; BAD_STATE while the host observes
 * (rush_session_observe). A trace that has not ended gives way to the new one. */
rush_status rush_session_trace(rush_session *session, const rush_traced *items, size_t n,
                               double rtol, double atol);
/* The same with the trace that the file holds of a test vector (`rushlight export --trace`), and
 * begins its run as rush_session_verify_begin does. BAD_ARGUMENT where the file holds none. */
rush_status rush_session_trace_test(rush_session *session, size_t test);

/* What came of it. */
typedef struct rush_trace_report {
  uint64_t compared,
      unpaired; /* runs of operators, IFs and LOOPs up to where they part; unpaired ones have no
                   counterpart */
  double max_abs, max_rel; /* of floating-point elements that agree, as in rush_verify_report */
  uint32_t method, instr;  /* of the first that differs, as in rush_next */
  uint32_t iteration;      /* of its loop, counted from 0 */
} rush_trace_report;
/* Ends the comparison. OK where all agree, MISMATCH where not: the message names instruction,
 * Python line and iteration of the first that differs, and how. BAD_STATE where none was asked for.
 * Also after a run that failed. */
rush_status rush_session_trace_end(rush_session *session, rush_trace_report *out);

#ifdef __cplusplus
}
#endif
#endif
