/* Compares the results of operators with those of PyTorch's nodes during a run. */
#include <rushlight/trace.h>

#include "exec/compare.h"

/* An instruction and the trace items with its handle. */
typedef struct pair {
  uint64_t handle;
  uint32_t first, n; /* range of its items */
  uint32_t owner;    /* first instruction with this handle, which counts for all of them */
  uint32_t next;     /* next item to compare */
  bool shared;       /* several instructions have this handle */
} pair;

typedef struct trace {
  const rush_traced *items;
  pair *pairs; /* m->n_instrs */
  double rtol, atol;
  rush_trace_report report;
  bool parted;
  char message[RUSH_MESSAGE_BYTES]; /* for the first difference */
  rush_value *tuples;   /* for a trace in the file: results of each item, then float64's */
  rush_traced *created; /* its items */
  size_t n_created;     /* their number */
} trace;

/* ---- During the run -------------------------------------------------------------------------- */

static rush_status compare_item(rush_session *s, const rush_value *results, uint32_t n,
                                const rush_traced *item) {
  trace *t = s->observed;
  rush_verify_report r = {.max_abs = t->report.max_abs, .max_rel = t->report.max_rel};
  for (uint32_t k = 0; k < n && k < item->n; k++) {
    if (item->results[k].kind == RUSH_KIND_NONE) continue;
    RUSH_TRY(rush_compare_scaled(s, results + k, item->results + k,
                                 item->exact ? item->exact + k : NULL, t->rtol, t->atol, &r));
  }
  t->report.max_abs = r.max_abs;
  t->report.max_rel = r.max_rel;
  return RUSH_OK;
}

/* Finds the next of `n` remaining items that agrees. It must be the first one, unless iterations
 * may be missing. */
static rush_status find_equal(rush_session *s, const rush_value *results, uint32_t n_results,
                              const rush_traced *items, size_t n, bool skip, uint32_t *found) {
  RUSH_CHECK(s->ctx, n > 0, RUSH_ERR_MISMATCH,
             "PyTorch's run does not reach this instruction, or reaches it less often");
  for (size_t k = 0; k < (skip ? n : 1); k++) {
    *found = (uint32_t)k;
    RUSH_TRY(rush_charge(s->ctx, 1000));
    rush_status st = compare_item(s, results, n_results, items + k);
    if (st != RUSH_ERR_MISMATCH) return st;
  }
  return compare_item(s, results, n_results, items); /* only for its message */
}

static void compare_results(rush_session *s, const rush_code *c, const rush_value *results,
                            uint32_t n) {
  trace *t = s->observed;
  uint32_t instr = (uint32_t)(c - s->m->code), skipped;
  if (t->parted || n == 0) return;
  const pair *p = t->pairs + instr;
  pair *owner = t->pairs + p->owner;
  if (p->handle == 0) {
    t->report.unpaired++;
    return;
  }
  rush_status st = find_equal(s, results, n, t->items + p->first + owner->next, p->n - owner->next,
                              owner->shared, &skipped);
  if (st == RUSH_OK) {
    owner->next += skipped + 1;
    t->report.compared++;
    return;
  }
  if (p->n > 1) rush_fail_prefix(s->ctx, st, "iteration %u: ", owner->next);
  rush_fail_prefix_instr(s->ctx, s->m, instr, st);
  memcpy(t->message, s->ctx->message, sizeof t->message);
  t->parted = true;
  t->report.method = s->method;
  t->report.instr = instr - s->m->methods[s->method].instrs;
  t->report.iteration = owner->next;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static void drop_trace(rush_session *s) {
  trace *t = s->observed;
  for (size_t k = 0; t->tuples && k < 2 * t->n_created; k++) rush_drop(&s->heap, t->tuples + k);
  rush_release(s->ctx, t->tuples, 2 * t->n_created * sizeof *t->tuples);
  rush_release(s->ctx, t->created, t->n_created * sizeof *t->created);
  rush_release(s->ctx, t->pairs, s->m->n_instrs * sizeof *t->pairs);
}

static const rush_observer tracer = {compare_results, drop_trace};

static void end_trace(rush_session *s) {
  if (s->observer == &tracer) rush_observe_end(s);
}

/* Returns the first item of a handle, or `n` if there is none. */
static size_t first_of(const rush_traced *items, size_t n, uint64_t handle) {
  size_t lo = 0, hi = n;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (items[mid].handle < handle)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < n && items[lo].handle == handle ? lo : n;
}

/* Returns whether an instruction is compared with items like this one (NULL if its handle has
 * none). The exporter drops unused results of an IF or a LOOP, and then the mapping is unknown.
 * Older files hold no items for them. */
static bool is_compared(const rush_code *c, const rush_traced *item) {
  switch (c->opcode) {
    case RUSH_OPCODE_OP:
      return true;
    case RUSH_OPCODE_IF:
      return item && item->n == c->n_out;
    case RUSH_OPCODE_LOOP:
      return item && item->n == c->n_in - 2u;
    default:
      return false;
  }
}

/* Pairs instructions with items. `owners` has one RUSH_NONE per item. Returns the number of paired
 * instructions. */
static size_t pair_all(const rush_model *m, const rush_traced *items, size_t n, uint32_t *owners,
                       pair *pairs) {
  size_t paired = 0;
  for (uint32_t i = 0; i < m->n_instrs; i++) {
    pair *p = pairs + i;
    uint32_t source = m->instrs[i].source;
    p->handle = source < m->n_sources ? m->sources[source].handle : 0;
    p->owner = i;
    size_t first = p->handle ? first_of(items, n, p->handle) : n, last = first;
    if (!is_compared(m->code + i, first < n ? items + first : NULL)) p->handle = 0;
    if (first == n || p->handle == 0) continue;
    /* The first instruction of a handle finds the end of its items. */
    if (owners[first] == RUSH_NONE)
      while (last < n && items[last].handle == p->handle) last++;
    else
      last = first + pairs[owners[first]].n;
    p->first = (uint32_t)first;
    p->n = (uint32_t)(last - first);
    paired++;
    if (owners[first] == RUSH_NONE) owners[first] = i;
    p->owner = owners[first];
    pairs[p->owner].shared = p->owner != i || pairs[p->owner].shared;
  }
  return paired;
}

/* A program that only passes on its inputs has nothing to compare. */
static bool has_operators(const rush_model *m) {
  for (uint32_t i = 0; i < m->n_instrs; i++)
    if (m->code[i].opcode == RUSH_OPCODE_OP) return true;
  return false;
}

/* Returns whether any instruction comes from a PyTorch node. */
static bool has_handles(const rush_model *m) {
  for (uint32_t i = 0; i < m->n_sources; i++)
    if (m->sources[i].handle != 0) return true;
  return false;
}

/* Creates a trace. After any later failure, end_trace removes it. */
static rush_status make_trace(rush_session *s) {
  end_trace(s);
  return rush_observe_with(s, &tracer, sizeof(trace));
}

static rush_status start(rush_session *s, const rush_traced *items, size_t n, double rtol,
                         double atol) {
  const rush_model *m = s->m;
  trace *t = s->observed;
  uint32_t *owners;
  for (size_t k = 1; k < n; k++)
    RUSH_CHECK(s->ctx, items[k - 1].handle <= items[k].handle, RUSH_ERR_BAD_ARGUMENT,
               "the handles of a trace must be sorted");
  t->items = items;
  t->rtol = rtol;
  t->atol = atol;
  RUSH_TRY(rush_calloc(s->ctx, m->n_instrs, sizeof *t->pairs, (void **)&t->pairs));
  RUSH_TRY(rush_calloc(s->ctx, n, sizeof *owners, (void **)&owners));
  for (size_t k = 0; k < n; k++) owners[k] = RUSH_NONE;
  size_t paired = pair_all(m, items, n, owners, t->pairs);
  rush_release(s->ctx, owners, n * sizeof *owners);
  if (paired > 0 || n == 0 || !has_operators(m)) return RUSH_OK;
  RUSH_CHECK(s->ctx, !has_handles(m), RUSH_ERR_BAD_ARGUMENT,
             "the trace belongs to another graph than the file");
  return rush_fail(s->ctx, RUSH_ERR_BAD_ARGUMENT,
                   "no operator of this file has a counterpart in PyTorch's graph: it has no "
                   "sources, or consists of decompositions. Compare its outputs by verify");
}

rush_status rush_session_trace(rush_session *s, const rush_traced *items, size_t n, double rtol,
                               double atol) {
  RUSH_TRY(make_trace(s));
  rush_status st = start(s, items, n, rtol, atol);
  if (st != RUSH_OK) end_trace(s);
  return st;
}

/* Returns the record of a traced node's float64 result, or NULL. Records are in ascending order. */
static const rush_file_exact *exact_of(const rush_model *m, uint32_t traced, uint32_t *next) {
  while (*next < m->n_exact && m->exact[*next].traced < traced) ++*next;
  return *next < m->n_exact && m->exact[*next].traced == traced ? m->exact + *next : NULL;
}

/* Creates the items of `n` records, starting at `first`. */
static rush_status make_items(rush_session *s, size_t first, size_t n) {
  const rush_model *m = s->m;
  trace *t = s->observed;
  rush_storage **copies;
  uint32_t next = 0;
  t->n_created = n;
  RUSH_TRY(rush_calloc(s->ctx, n, 2 * sizeof *t->tuples, (void **)&t->tuples));
  RUSH_TRY(rush_calloc(s->ctx, n, sizeof *t->created, (void **)&t->created));
  RUSH_TRY(rush_calloc(s->ctx, m->n_storages, sizeof *copies, (void **)&copies));
  rush_status st = RUSH_OK;
  for (size_t k = 0; k < n && st == RUSH_OK; k++) {
    const rush_file_traced *record = m->traced + first + k;
    const rush_file_exact *exact = exact_of(m, (uint32_t)(first + k), &next);
    rush_value *results = t->tuples + 2 * k;
    st = rush_constant_copy(&s->heap, m, record->results, copies, results);
    if (st == RUSH_OK && exact)
      st = rush_constant_copy(&s->heap, m, exact->results, copies, results + 1);
    if (st != RUSH_OK) break;
    const rush_list *given = rush_as_list(results),
                    *known = exact ? rush_as_list(results + 1) : NULL;
    t->created[k] = (rush_traced){record->handle, given->items, given->n,
                                  known && known->n == given->n ? known->items : NULL};
  }
  rush_release(s->ctx, copies, m->n_storages * sizeof *copies);
  return st;
}

rush_status rush_session_trace_test(rush_session *s, size_t test) {
  const rush_model *m = s->m;
  size_t first = 0, n = 0;
  while (first < m->n_traced && m->traced[first].test < test) first++;
  while (first + n < m->n_traced && m->traced[first + n].test == test) n++;
  RUSH_CHECK(
      s->ctx, n > 0 || (test < m->n_tests && !has_operators(m)), RUSH_ERR_BAD_ARGUMENT,
      "the file holds no trace of test vector %zu: export it with --trace (trace=True in Python)",
      test);
  RUSH_TRY(make_trace(s));
  const rush_file_test *t = m->tests + test;
  rush_status st = make_items(s, first, n);
  if (st == RUSH_OK)
    st = start(s, ((trace *)s->observed)->created, n, (double)t->rtol, (double)t->atol);
  if (st == RUSH_OK) st = rush_session_verify_begin(s, test);
  if (st != RUSH_OK) end_trace(s);
  return st;
}

rush_status rush_session_trace_end(rush_session *s, rush_trace_report *out) {
  trace *t = s->observed;
  *out = (rush_trace_report){0};
  RUSH_CHECK(s->ctx, s->observer == &tracer, RUSH_ERR_BAD_STATE, "nothing is being compared");
  *out = t->report;
  rush_status st = RUSH_OK;
  if (t->parted) {
    const uint32_t first = s->m->methods[t->report.method].instrs;
    const rush_location at = rush_location_of(s->m, first + t->report.instr);
    st = rush_fail(s->ctx, RUSH_ERR_MISMATCH, "%s", t->message);
    rush_set_location(s->ctx, &at);
  }
  end_trace(s);
  return st;
}
