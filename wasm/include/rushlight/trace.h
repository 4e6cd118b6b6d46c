/* Comparison of a run with PyTorch's, value by value, to find the first difference.
 *
 *   rush_session_trace(session, items, n, rtol, atol);   or rush_session_trace_test(session, test)
 *   rush_session_run(session, ...);                      or begin, step, provide
 *   if (rush_session_trace_end(session, &report) == RUSH_ERR_MISMATCH) puts(rush_ctx_error(ctx));
 *
 * An instruction is paired with a node of PyTorch's graph by the debug handle that the file
 * keeps with its source lines. The graph is the one before freezing. Values that the exporter
 * folded or fused are compared where the combined value appears. */
#ifndef RUSHLIGHT_TRACE_H
#define RUSHLIGHT_TRACE_H

#include "rushlight.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The results of one run of a node in PyTorch: `n` of them, borrowed. An operator with fewer
 * results is compared with the first ones. An IF or a LOOP is compared at its end if it has as
 * many. Nothing is compared with None. */
typedef struct rush_traced {
  uint64_t handle;
  const rush_value *results;
  size_t n;
  const rush_value *exact; /* the `n` results in float64; NULL if they are not known */
} rush_traced;

/* Compares the next run with these items. They belong to the caller and must stay valid until
 * rush_session_trace_end. They are sorted by handle, and those of one handle have the order of
 * PyTorch's run. The k-th run of an instruction is compared with the k-th item of its handle. If
 * several instructions share a handle, as in an unrolled loop of which some iterations may be
 * folded, a run is compared with the next item that agrees. Values agree by the rule of
 * verdict.h, with atol in units of max(1, the tensor's greatest |b|). Fails with BAD_ARGUMENT if
 * the items are in another order or nothing can be compared, with BAD_STATE while the host
 * observes (rush_session_observe), and with NO_MEMORY. A trace that has not ended is replaced. */
rush_status rush_session_trace(rush_session *session, const rush_traced *items, size_t n,
                               double rtol, double atol);
/* Does the same with the trace of a test vector in the file (`rushlight export --trace`), and
 * begins its run as rush_session_verify_begin does. Fails with BAD_ARGUMENT if the file has no
 * trace of it. */
rush_status rush_session_trace_test(rush_session *session, size_t test);

/* The outcome of a comparison. */
typedef struct rush_trace_report {
  /* How many runs of operators, IFs and LOOPs were compared up to the first difference, and how
   * many have no counterpart in PyTorch's run. */
  uint64_t compared, unpaired;
  double max_abs, max_rel; /* for elements that agree, as in rush_verify_report */
  uint32_t method, instr;  /* of the first difference, as in rush_next */
  uint32_t iteration;      /* which run of that instruction, counted from 0 */
} rush_trace_report;
/* Ends the comparison, even after a run that failed. Returns OK if all values agree. Returns
 * MISMATCH if one differs; the message names the instruction, the Python line and the iteration
 * of the first difference, and how it differs. Fails with BAD_STATE if no comparison was begun. */
rush_status rush_session_trace_end(rush_session *session, rush_trace_report *out);

#ifdef __cplusplus
}
#endif
#endif
