/* The beginning of a run: arguments, defaults and constraints on sizes. */
#include "exec/session.h"
#include "model/print.h"

/* ---- Arguments ------------------------------------------------------------------------------- */

static rush_status refuse_input(rush_session *s, const char *method, const rush_file_port *port,
                                const rush_value *v) {
  rush_text type = {.ctx = s->ctx};
  char *text;
  size_t size;
  RUSH_TRY(rush_take_stop(s->ctx));
  rush_print_type(&type, s->m, port->type);
  RUSH_TRY(rush_text_take(&type, &text, &size));
  const rush_status st =
      rush_fail(s->ctx, RUSH_ERR_BAD_ARGUMENT, "%s: input \"%s\" must be %s, got %s", method,
                rush_string(s->m, port->name), text, rush_kind_name(v->kind));
  rush_release(s->ctx, text, size);
  return st;
}

/* Stores an input's default. A list is a new one, kept until the session is reset: in
 * PyTorch, writes into a default persist. */
static rush_status take_default(rush_session *s, uint32_t port, rush_value *out) {
  const uint32_t initial = s->m->ports[port].initial;
  if (!rush_is_container(s->constants[initial].kind)) {
    *out = rush_value_retained(s->constants[initial]);
    return RUSH_OK;
  }
  if (s->initials[port].kind == RUSH_KIND_NONE)
    RUSH_TRY(rush_session_copy(s, initial, s->initials + port));
  *out = rush_value_retained(s->initials[port]);
  return RUSH_OK;
}

static rush_status take_args(rush_session *s, const rush_file_method *f, const rush_value *args,
                             size_t n_args) {
  const rush_model *m = s->m;
  const char *method = rush_string(m, f->name);
  RUSH_CHECK(s->ctx, n_args <= f->n_inputs, RUSH_ERR_BAD_ARGUMENT, "%s takes %u input%s, got %zu",
             method, f->n_inputs, f->n_inputs == 1 ? "" : "s", n_args);
  for (uint32_t k = 0; k < f->n_inputs; k++) {
    const rush_file_port *port = m->ports + f->inputs + k;
    const char *name = rush_string(m, port->name);
    if (k >= n_args) {
      RUSH_CHECK(s->ctx, port->initial != RUSH_NONE, RUSH_ERR_BAD_ARGUMENT,
                 "%s: input \"%s\" is missing", method, name);
      RUSH_TRY(take_default(s, f->inputs + k, s->registers + k));
      continue;
    }
    if (!rush_value_fits(s->ctx, m, port->type, args + k))
      return refuse_input(s, method, port, args + k);
    s->registers[k] = rush_value_retained(args[k]);
  }
  return RUSH_OK;
}

/* Returns the export's example of a port. Its open dimensions are those of `actual`. */
static rush_file_hint example_of(const rush_model *m, uint32_t port, rush_file_hint actual) {
  const rush_file_hint *hint = m->hints + m->ports[port].hint;
  if (hint->dtype != RUSH_DTYPE_UNKNOWN) actual.dtype = hint->dtype;
  if (hint->rank > RUSH_MAX_RANK) return actual;
  actual.rank = hint->rank;
  for (int d = 0; d < RUSH_MAX_RANK; d++) {
    if (hint->sizes[d] >= 0) actual.sizes[d] = hint->sizes[d];
  }
  return actual;
}

/* Keeps the first input whose dtype or shape is not that of the export's example. A program may
 * take others, too; where it fails, that is the likely cause. */
static void find_odd_input(rush_session *s, const rush_file_method *f) {
  s->odd_port = RUSH_NONE;
  for (uint32_t k = f->n_inputs; k-- > 0;) {
    const uint32_t port = f->inputs + k;
    if (s->m->ports[port].hint == RUSH_NONE || s->registers[k].kind != RUSH_KIND_TENSOR) continue;
    const rush_tensor *t = rush_as_tensor(s->registers + k);
    rush_file_hint actual = {.dtype = (uint8_t)t->dtype, .rank = t->rank};
    memcpy(actual.sizes, t->sizes, sizeof *t->sizes * t->rank);
    const rush_file_hint example = example_of(s->m, port, actual);
    if (memcmp(&example, &actual, sizeof actual) == 0) continue;
    s->odd_port = port;
    s->odd = actual;
  }
}

void rush_note_odd_input(rush_session *s, rush_status status) {
  if (s->odd_port == RUSH_NONE || status == RUSH_ERR_INTERRUPTED || status == RUSH_ERR_NO_MEMORY)
    return;
  const rush_file_hint *odd = &s->odd, example = example_of(s->m, s->odd_port, *odd);
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  rush_fail_prefix(
      s->ctx, status, "input \"%s\" is %s %s but was exported as %s %s: ",
      rush_string(s->m, s->m->ports[s->odd_port].name), rush_dtype_name((rush_dtype)odd->dtype),
      rush_shape_text(odd->rank, odd->sizes, a), rush_dtype_name((rush_dtype)example.dtype),
      rush_shape_text(example.rank, example.sizes, b));
}

/* ---- Constraints ----------------------------------------------------------------------------- */

/* The first constraint of a method's inputs that has this one's name. */
static const rush_file_constraint *first_of_name(const rush_model *m, const rush_file_method *f,
                                                 const rush_file_constraint *p) {
  for (const rush_file_constraint *q = m->constraints; p->name != RUSH_NONE && q < p; q++) {
    if (q->port >= f->inputs && q->name == p->name) return q;
  }
  return NULL;
}

/* Returns the size that a constraint is about, or -1 if the input is None or has a smaller rank. */
static int64_t constrained_size(const rush_session *s, const rush_file_method *f,
                                const rush_file_constraint *p) {
  const rush_value *v = s->registers + (p->port - f->inputs);
  if (v->kind != RUSH_KIND_TENSOR || (int)p->dim >= rush_as_tensor(v)->rank) return -1;
  return rush_as_tensor(v)->sizes[p->dim];
}

/* Returns the rank of the export's example, or its minimum. */
static int rank_of(const rush_model *m, const rush_file_constraint *p) {
  const uint32_t hint = m->ports[p->port].hint;
  const int rank = hint == RUSH_NONE ? RUSH_MAX_RANK + 1 : m->hints[hint].rank;
  return rank <= RUSH_MAX_RANK ? rank : (int)p->dim + 1;
}

static rush_status enforce_constraint(rush_session *s, const rush_file_method *f,
                                      const rush_file_constraint *p) {
  const rush_model *m = s->m;
  const char *input = rush_string(m, m->ports[p->port].name);
  const rush_value *v = s->registers + (p->port - f->inputs);
  const int64_t size = constrained_size(s, f, p);
  if (v->kind != RUSH_KIND_TENSOR) return RUSH_OK;
  RUSH_CHECK(s->ctx, size >= 0, RUSH_ERR_BAD_ARGUMENT,
             "input \"%s\" must have %d dimensions, as at export, got %d", input, rank_of(m, p),
             rush_as_tensor(v)->rank);
  const bool fixed = p->min == p->max, small = size < p->min;
  RUSH_CHECK(s->ctx, !small && size <= p->max, RUSH_ERR_BAD_ARGUMENT,
             "size %u of input \"%s\" must be %s%lld%s, got %lld", p->dim, input,
             fixed   ? ""
             : small ? "at least "
                     : "at most ",
             (long long)(small ? p->min : p->max), fixed ? ", as at export" : "", (long long)size);
  const rush_file_constraint *first = first_of_name(m, f, p);
  const int64_t other = first ? constrained_size(s, f, first) : -1;
  RUSH_CHECK(s->ctx, other < 0 || size == other, RUSH_ERR_BAD_ARGUMENT,
             "size %u of input \"%s\" is %lld and size %u of input \"%s\" is %lld: they must be "
             "equal",
             p->dim, input, (long long)size, first->dim, rush_string(m, m->ports[first->port].name),
             (long long)other);
  return RUSH_OK;
}

static rush_status enforce_constraints(rush_session *s, const rush_file_method *f) {
  for (uint32_t i = 0; i < s->m->n_constraints; i++) {
    const rush_file_constraint *p = s->m->constraints + i;
    if (p->port >= f->inputs && p->port - f->inputs < f->n_inputs)
      RUSH_TRY(enforce_constraint(s, f, p));
  }
  return RUSH_OK;
}

/* ---- Begin ----------------------------------------------------------------------------------- */

static rush_status begin(rush_session *s, uint32_t method, const rush_value *args, size_t n_args) {
  rush_session_clear(s);
  rush_free_dead(&s->heap);
  RUSH_TRY(rush_take_stop(s->ctx));
  s->method = method;
  const rush_file_method *f = s->m->methods + method;
  rush_status st = take_args(s, f, args, n_args);
  if (st == RUSH_OK) st = enforce_constraints(s, f);
  if (st != RUSH_OK) {
    rush_session_clear(s);
    return st;
  }
  find_odd_input(s, f);
  s->random = &s->own_random;
  s->steps = 0;
  s->running = true;
  s->pc = f->instrs;
  return RUSH_OK;
}

rush_status rush_session_begin(rush_session *s, size_t method, const rush_value *args,
                               size_t n_args) {
  RUSH_TRY(rush_session_not_stepping(s));
  RUSH_CHECK(s->ctx, method < s->m->n_methods, RUSH_ERR_BAD_ARGUMENT,
             "method %zu does not exist, the model has %u", method, s->m->n_methods);
  rush_session_enter(s);
  const rush_status st = begin(s, (uint32_t)method, args, n_args);
  rush_session_leave(s);
  return st;
}
