#include "exec/session.h"

rush_status rush_session_profile(rush_session *s, rush_clock_fn clock, void *user) {
  s->clock = NULL;
  if (!clock) return RUSH_OK;
  if (!s->timings)
    RUSH_TRY(rush_calloc(s->ctx, s->m->n_instrs, sizeof *s->timings, (void **)&s->timings));
  if (s->m->n_instrs) memset(s->timings, 0, s->m->n_instrs * sizeof *s->timings);
  s->clock = clock;
  s->clock_user = user;
  return RUSH_OK;
}

static rush_profile_row row_of(const rush_session *s, uint32_t method, uint32_t i) {
  const rush_model *m = s->m;
  const rush_file_instr *in = m->instrs + i;
  rush_profile_row row = {.op = rush_string(m, m->file_ops[in->op].name),
                          .method = method,
                          .instr = i - m->methods[method].instrs,
                          .file = "",
                          .calls = s->timings[i].calls,
                          .seconds = s->timings[i].seconds};
  if (in->source < m->n_sources) {
    row.file = rush_string(m, m->sources[in->source].file);
    row.line = m->sources[in->source].line;
  }
  return row;
}

rush_status rush_session_profile_rows(rush_session *s, rush_profile_row **rows, size_t *n) {
  const rush_model *m = s->m;
  size_t count = 0, at = 0;
  *rows = NULL;
  *n = 0;
  for (uint32_t i = 0; s->timings && i < m->n_instrs; i++) count += s->timings[i].calls > 0;
  RUSH_TRY(rush_calloc(s->ctx, count, sizeof **rows, (void **)rows));
  for (uint32_t f = 0; f < m->n_methods; f++) {
    for (uint32_t i = m->methods[f].instrs;
         s->timings && i < m->methods[f].instrs + m->methods[f].n_instrs; i++) {
      if (s->timings[i].calls > 0) (*rows)[at++] = row_of(s, f, i);
    }
  }
  *n = count;
  return RUSH_OK;
}
