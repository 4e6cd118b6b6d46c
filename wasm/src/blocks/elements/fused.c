#include "blocks/elements/fused.h"

#include "blocks/elements/pointwise.h"
#include "tensor/planes.h"

enum {
  STEPS = RUSH_MAX_CHAIN,
  OUTSIDE = 2 * STEPS,       /* operands that are not results of a step */
  BYTES = 2048,              /* of each value per block */
  SLOTS = 10,                /* blocks for intermediate results that are not stored */
  ASIDE = RUSH_ITER_MAX - 1, /* operands whose layout differs from the results' */
  SHORT = 16,                /* rows this short run unfused */
  LINE = 1024,               /* minimum number of elements per thread */
  STAYS = -1,
};

/* Element i is at `at + i * step`, where element 0 is the first of the tensor. A step of 0 means
 * that `at` is a block with only the current elements. */
typedef struct place {
  char *at;
  int64_t step;
} place;

typedef struct step {
  rush_pw_body *body;
  int n;
  uint16_t in[RUSH_PW_OPERANDS]; /* values: steps, then outside operands */
  rush_dtype dtype;
  int last; /* the last step that reads the result, or STAYS */
  int slot; /* block index, or -1 */
} step;

typedef struct outside {
  uint32_t operand; /* RUSH_NONE for a number */
  rush_tensor *t;
  rush_tensor seen; /* header with the layout at the time of planning */
  bool was_turned;
  bool is_same, aside; /* is_same: a single element; aside: another layout */
  rush_dtype dtype;    /* dtype that the body takes */
  int64_t element[2];
  int last;
} outside;

/* A non-NULL pointer that marks a storage as turned. It is never read. */
static struct rush_turned no_turned;

struct rush_fused {
  size_t bytes; /* size of this allocation */
  uint32_t n, most, n_outside, n_operands, n_aside, n_same;
  size_t greatest; /* largest item size */
  bool flat, is_integral;
  const char *fault;
  rush_tensor shape;    /* header of the results */
  rush_storage storage; /* placeholder for their storage, turned if they will be */
  const rush_tensor *stand_ins;
  char *memory; /* blocks filled with single elements */
  size_t block_bytes;
  int64_t block; /* elements per block, or 0 before the first run */
  uint16_t aside[ASIDE];
  step *steps;
  rush_pw_params *params;
  outside *outside;
  place places[STEPS + OUTSIDE];
};

rush_status rush_fused_new(rush_ctx *ctx, uint32_t n, uint32_t operands, rush_fused **out) {
  if (operands > OUTSIDE) operands = OUTSIDE;
  size_t bytes;
  if (!rush_mul(n, sizeof(step) + sizeof(rush_pw_params), &bytes) ||
      !rush_add(bytes, sizeof(rush_fused) + OUTSIDE * sizeof(outside), &bytes))
    return rush_fail_memory(ctx, SIZE_MAX);
  void *memory;
  RUSH_TRY(rush_alloc(ctx, bytes, &memory));
  rush_fused *w = *out = memory;
  memset(w, 0, offsetof(rush_fused, places));
  w->bytes = bytes;
  w->most = n;
  w->n_operands = operands;
  w->greatest = sizeof(float);
  w->storage.refs = 2;
  w->params = (void *)(w + 1);
  /* It stands before the steps, which have only 4-byte alignment in wasm. */
  w->outside = (void *)(w->params + n);
  w->steps = (void *)(w->outside + operands);
  return RUSH_OK;
}

void rush_fused_destroy(rush_ctx *ctx, rush_fused *w) {
  if (!w) return;
  rush_release(ctx, w->memory, w->n_same * w->block_bytes);
  rush_release(ctx, w, w->bytes);
}

/* ---- Planning -------------------------------------------------------------------------------- */

static bool add_outside(rush_fused *w, const outside *o, uint16_t *value) {
  if (w->n_outside == w->n_operands || (o->aside && w->n_aside == ASIDE)) return false;
  *value = (uint16_t)(STEPS + w->n_outside);
  if (o->aside) w->aside[w->n_aside++] = *value;
  if (o->is_same) w->n_same++;
  w->outside[w->n_outside++] = *o;
  return true;
}

static bool add_tensor(rush_fused *w, rush_tensor *t, uint32_t operand, rush_dtype dtype,
                       uint16_t *value) {
  const bool converts = rush_is_float(dtype) && !rush_is_complex(t->dtype) && !t->storage->quant;
  for (uint32_t k = 0; k < w->n_outside; k++) {
    if (w->outside[k].operand != operand || w->outside[k].dtype != dtype) continue;
    *value = (uint16_t)(STEPS + k);
    return true;
  }
  outside o = {.operand = operand,
               .t = t,
               .seen = *t,
               .was_turned = rush_is_turned(t),
               .dtype = dtype,
               .last = STAYS};
  o.is_same = t->numel == 1;
  if (t->dtype != dtype && !(o.is_same && converts)) return false;
  if (o.is_same)
    rush_convert(dtype, o.element, t->dtype, rush_data(t), 1);
  else
    o.aside = !rush_same_sizes(t, &w->shape) || !rush_same_strides(t, &w->shape);
  return add_outside(w, &o, value);
}

/* Sets the stand-in for the result. Returns false if it differs from the first one in more than the
 * dtype. */
static bool shape_result(rush_fused *w, const rush_call *c, const rush_pw_plan *plan) {
  const rush_pw_operands *o = &plan->o;
  rush_tensor *t = &w->shape;
  bool same = w->n == 0 || t->rank == o->rank;
  for (int d = 0; d < o->rank && same; d++) same = w->n == 0 || t->sizes[d] == o->sizes[d];
  if (!same || (w->n > 0 && w->flat && o->flat)) return same;
  int64_t strides[RUSH_MAX_RANK], nominal[RUSH_MAX_RANK];
  if (o->flat) {
    rush_strides_contiguous(o->rank, o->sizes, strides);
    rush_strides_contiguous(o->rank, o->sizes, nominal);
  } else {
    rush_pw_result_strides(c, plan, strides, nominal);
  }
  if (w->n > 0) {
    for (int d = 0; d < o->rank; d++)
      if (strides[d] != t->strides[d] || nominal[d] != t->nominal[d]) return false;
    return true;
  }
  t->rank = (uint8_t)o->rank;
  for (int d = 0; d < o->rank; d++) {
    t->sizes[d] = o->sizes[d];
    t->strides[d] = strides[d];
    t->nominal[d] = nominal[d];
    if (strides[d] != nominal[d]) w->storage.turned = &no_turned;
    if (o->sizes[d] == 0) return false;
  }
  w->flat = o->flat;
  return rush_numel(t->rank, t->sizes, &t->numel);
}

static void set_stand_in(const rush_fused *w, rush_dtype dtype, rush_tensor *t) {
  const rush_tensor *shape = &w->shape;
  t->object.refs = 2;
  t->dtype = dtype;
  t->rank = shape->rank;
  t->offset = t->nominal_offset = 0;
  t->numel = shape->numel;
  t->storage = (rush_storage *)(uintptr_t)&w->storage;
  for (int d = 0; d < t->rank; d++) {
    t->sizes[d] = shape->sizes[d];
    t->strides[d] = shape->strides[d];
    t->nominal[d] = shape->nominal[d];
  }
}

static bool add_operand(rush_fused *w, const rush_call *c, const rush_pw_plan *plan, int k,
                        const uint32_t *operands, uint16_t *value) {
  rush_tensor *t = plan->o.t[k];
  const rush_dtype dtype = rush_pw_operand_dtype(plan, k);
  if (!t) {
    outside o = {.operand = RUSH_NONE, .is_same = true, .dtype = dtype, .last = STAYS};
    rush_pw_place_scalar(c, plan, k, o.element);
    return add_outside(w, &o, value);
  }
  if (w->n == 0 || t < w->stand_ins || t >= w->stand_ins + w->n)
    return add_tensor(w, t, operands[plan->job.arg[k]], dtype, value);
  *value = (uint16_t)(t - w->stand_ins);
  return t->dtype == dtype;
}

bool rush_fused_add(rush_fused *w, rush_call *c, const uint32_t *operands, rush_tensor *stand_in) {
  rush_pw_plan plan;
  if (w->n == w->most) return false;
  step *s = w->steps + w->n;
  if (rush_pw_plan_call(c, c->op->family, &plan) != RUSH_OK) return false;
  if (plan.written != plan.result || rush_is_complex(plan.compute)) return false;
  if (!shape_result(w, c, &plan)) return false;
  const uint32_t n_outside = w->n_outside, n_aside = w->n_aside, n_same = w->n_same;
  for (int k = 0; k < plan.job.n; k++) {
    if (add_operand(w, c, &plan, k, operands, &s->in[k])) continue;
    w->n_outside = n_outside;
    w->n_aside = n_aside;
    w->n_same = n_same;
    return false;
  }
  if (w->n == 0) w->stand_ins = stand_in;
  s->body = plan.body;
  s->n = plan.job.n;
  s->dtype = plan.result;
  s->last = STAYS;
  s->slot = -1;
  w->params[w->n++] = plan.job.p;
  w->is_integral = w->is_integral || rush_is_integral(plan.job.common);
  if (rush_dtype_size(plan.compute) > w->greatest) w->greatest = rush_dtype_size(plan.compute);
  set_stand_in(w, plan.result, stand_in);
  return true;
}

void rush_fused_release(rush_fused *w, int k, uint32_t r, uint32_t last) {
  if (k >= 0) w->steps[k].last = (int)last;
  for (uint32_t i = 0; k < 0 && i < w->n_outside; i++)
    if (w->outside[i].operand == r) w->outside[i].last = (int)last;
}

/* ---- Rebinding to another run ---------------------------------------------------------------- */

static bool has_same_layout(const rush_tensor *t, const rush_tensor *seen, bool was_turned) {
  if (t->dtype != seen->dtype || t->rank != seen->rank || rush_is_turned(t) != was_turned)
    return false;
  for (int d = 0; d < t->rank; d++) {
    if (t->sizes[d] != seen->sizes[d] || t->strides[d] != seen->strides[d]) return false;
    if (was_turned && t->nominal[d] != seen->nominal[d]) return false;
  }
  return !t->storage->quant;
}

/* Fills a block with copies of one element. */
static void fill(const rush_fused *w, size_t item, const char *element, char *to) {
  if (item == sizeof(int32_t))
    rush_pw_fill_words(to, element, w->block);
  else
    rush_copy_items(item, to, (int64_t)item, element, 0, w->block);
}
static void fill_outside(const rush_fused *w, const outside *o, char *to) {
  fill(w, rush_dtype_size(o->dtype), (const char *)o->element, to);
}

bool rush_fused_rebind(rush_fused *w, const rush_value *registers) {
  for (uint32_t k = 0; k < w->n_outside; k++) {
    outside *o = w->outside + k;
    if (o->operand == RUSH_NONE || (o->operand & RUSH_OPERAND_CONSTANT)) continue;
    const rush_value *v = registers + o->operand;
    if (v->kind != RUSH_KIND_TENSOR) return false;
    o->t = rush_as_tensor(v);
    if (!has_same_layout(o->t, &o->seen, o->was_turned)) return false;
    if (!o->is_same) continue;
    int64_t element[2] = {0};
    rush_convert(o->dtype, element, o->t->dtype, rush_data(o->t), 1);
    if (memcmp(element, o->element, rush_dtype_size(o->dtype)) == 0) continue;
    memcpy(o->element, element, sizeof element);
    if (w->block) fill_outside(w, o, w->places[STEPS + k].at);
  }
  return true;
}

/* ---- Placement of values --------------------------------------------------------------------- */

/* Assigns a block to each result that is not stored, or returns false if there are too few. A body
 * may write in place if the item sizes are equal. */
static bool assign_slots(rush_fused *w) {
  bool used[SLOTS] = {false};
  for (uint32_t k = 0; k < w->n; k++) {
    step *s = w->steps + k;
    const bool stored = s->last == STAYS;
    bool ends[SLOTS] = {false};
    for (int i = 0; i < s->n; i++) {
      const step *from = s->in[i] < STEPS ? w->steps + s->in[i] : NULL;
      if (!from || from->slot < 0 || from->last > (int)k) continue;
      ends[from->slot] = true;
      if (!stored && rush_dtype_size(s->dtype) == rush_dtype_size(from->dtype))
        s->slot = from->slot;
    }
    for (int i = 0; i < SLOTS && s->slot < 0 && !stored; i++)
      if (!used[i]) s->slot = i;
    if (s->slot < 0 && !stored) return false;
    for (int i = 0; i < SLOTS; i++) used[i] = used[i] && !ends[i];
    if (s->slot >= 0) used[s->slot] = s->last > (int)k;
  }
  return true;
}

/* Allocates and fills blocks for single-element operands. */
static bool fill_blocks(rush_fused *w, rush_ctx *ctx) {
  const int64_t most = BYTES / (int64_t)w->greatest, n = w->shape.numel;
  void *memory = NULL;
  size_t bytes, all;
  if (!rush_mul((size_t)(n < most ? n : most), w->greatest, &bytes) ||
      !rush_add(bytes, 15, &bytes) || !rush_mul(w->n_same, bytes &= ~(size_t)15, &all) ||
      rush_alloc(ctx, all, &memory) != RUSH_OK)
    return false;
  char *to = w->memory = memory;
  w->block_bytes = bytes;
  w->block = (int64_t)(bytes / w->greatest);
  for (uint32_t k = 0; k < w->n_outside; k++) {
    if (!w->outside[k].is_same) continue;
    w->places[STEPS + k] = (place){to, 0};
    fill_outside(w, w->outside + k, to);
    to += bytes;
  }
  return true;
}

/* Returns whether result k may overwrite this operand: no later step reads it, it has no other
 * owner, and its layout is that of the results. */
static bool can_overwrite(const rush_fused *w, const outside *o, uint32_t k) {
  const rush_tensor *t = o->t;
  if (o->is_same || o->aside || o->last == STAYS || o->last > (int)k || w->is_integral)
    return false;
  if (t->dtype != w->steps[k].dtype || !rush_is_unshared(t)) return false;
  if (rush_is_turned(t) != (w->storage.turned != NULL)) return false;
  for (int d = 0; d < t->rank; d++)
    if (rush_nominal(t)[d] != w->shape.nominal[d]) return false;
  return true;
}

static rush_status make_result(const rush_fused *w, rush_heap *heap, uint32_t k, bool *taken,
                               rush_tensor **out) {
  const rush_tensor *t = &w->shape;
  for (uint32_t i = 0; i < w->n_outside; i++) {
    if (taken[i] || !can_overwrite(w, w->outside + i, k)) continue;
    taken[i] = true;
    *out = rush_tensor_retain(w->outside[i].t);
    return RUSH_OK;
  }
  const rush_dtype dtype = w->steps[k].dtype;
  if (w->flat) return rush_tensor_new(heap, dtype, t->rank, t->sizes, out);
  return rush_tensor_new_turned(heap, dtype, t->rank, t->sizes, t->strides, t->nominal, out);
}

/* Allocates the results that are stored. *stored is the first of them, or NULL. */
static bool place_values(rush_fused *w, rush_heap *heap, rush_value *results,
                         const rush_tensor **stored) {
  bool taken[OUTSIDE] = {false};
  *stored = NULL;
  for (uint32_t k = 0; k < w->n; k++) results[k] = rush_none();
  for (uint32_t k = 0; k < w->n; k++) {
    rush_tensor *t;
    if (w->steps[k].last != STAYS) continue;
    if (make_result(w, heap, k, taken, &t) != RUSH_OK) return false;
    results[k] = rush_of_tensor(t);
    w->places[k] = (place){rush_data(t), (int64_t)rush_itemsize(t)};
    if (!*stored) *stored = t;
  }
  for (uint32_t k = 0; k < w->n_outside; k++) {
    const outside *o = w->outside + k;
    if (!o->is_same)
      w->places[STEPS + k] = (place){rush_data(o->t), o->aside ? 0 : (int64_t)rush_itemsize(o->t)};
  }
  return *stored != NULL;
}

/* ---- Execution ------------------------------------------------------------------------------- */

typedef struct loop {
  rush_fused *w;
  int64_t n;
  rush_iter it;      /* iterates over the first stored result and the operands aside */
  const char *first; /* where that result begins */
  size_t item;       /* item size of that result */
} loop;

/* State of one thread. */
typedef struct worker {
  const rush_fused *w;
  place places[STEPS + OUTSIDE];
  rush_pw_params params[STEPS];
  _Alignas(16) char slots[SLOTS][BYTES];
  _Alignas(16) char aside[ASIDE][BYTES];
} worker;

static void start(worker *me, const rush_fused *w) {
  me->w = w;
  memcpy(me->places, w->places, w->n * sizeof *me->places);
  memcpy(me->places + STEPS, w->places + STEPS, w->n_outside * sizeof *me->places);
  memcpy(me->params, w->params, w->n * sizeof *me->params);
  for (uint32_t k = 0; k < w->n; k++)
    if (w->steps[k].slot >= 0) me->places[k] = (place){me->slots[w->steps[k].slot], 0};
}
static void finish(const worker *me, const loop *l) {
  for (uint32_t k = 0; k < me->w->n; k++)
    if (me->params[k].fault) __atomic_store_n(&l->w->fault, me->params[k].fault, __ATOMIC_RELAXED);
}

/* Runs all steps on m elements, starting with element `at`. */
static void run_steps(worker *me, int64_t at, int64_t m) {
  const rush_fused *w = me->w;
  for (uint32_t k = 0; k < w->n; k++) {
    const step *s = w->steps + k;
    const void *in[RUSH_PW_OPERANDS];
    for (int i = 0; i < s->n; i++) {
      const place *p = me->places + s->in[i];
      in[i] = p->at + at * p->step;
    }
    const place *to = me->places + k;
    s->body((size_t)m, to->at + at * to->step, in, me->params + k);
  }
}

static void run_lines(const void *arg, size_t begin, size_t end, unsigned who) {
  const loop *l = arg;
  const int64_t last = (int64_t)end * LINE < l->n ? (int64_t)end * LINE : l->n;
  worker me;
  (void)who;
  start(&me, l->w);
  for (int64_t at = (int64_t)begin * LINE; at < last; at += l->w->block)
    run_steps(&me, at, last - at < l->w->block ? last - at : l->w->block);
  finish(&me, l);
}

/* Places the elements from `done` on of the current row of operand k aside. `held` is the element
 * that fills its block, or NULL. */
static void copy_aside(worker *me, const rush_iter *it, uint32_t k, int64_t done, int64_t m,
                       const char **held) {
  const outside *o = me->w->outside + (me->w->aside[k] - STEPS);
  const int64_t stride = it->stride[k + 1][0], item = (int64_t)rush_itemsize(o->t);
  const char *from = it->at[k + 1] + done * stride;
  place *p = me->places + me->w->aside[k];
  if (stride == item) {
    p->at = (char *)(uintptr_t)from;
    return;
  }
  p->at = me->aside[k];
  if (stride != 0) {
    rush_copy_items((size_t)item, p->at, item, from, stride, m);
    *held = NULL;
  } else if (*held != from) {
    fill(me->w, (size_t)item, from, p->at);
    *held = from;
  }
}

/* Processes a range of indices of the outermost dimension. */
static void run_planes(const void *arg, size_t begin, size_t end, unsigned who) {
  const loop *l = arg;
  const char *held[ASIDE] = {NULL};
  rush_iter it = l->it;
  const int d = it.rank - 1;
  worker me;
  (void)who;
  start(&me, l->w);
  for (int k = 0; k < it.n; k++) it.at[k] += it.stride[k][d] * (int64_t)begin;
  it.size[d] = (int64_t)(end - begin);
  do {
    const int64_t row = (it.at[0] - l->first) / (int64_t)l->item;
    for (int64_t done = 0; done < it.size[0]; done += l->w->block) {
      const int64_t m = it.size[0] - done < l->w->block ? it.size[0] - done : l->w->block;
      for (uint32_t k = 0; k < l->w->n_aside; k++) copy_aside(&me, &it, k, done, m, held + k);
      run_steps(&me, row + done, m);
    }
  } while (rush_iter_next(&it));
  finish(&me, l);
}

/* Returns false if the rows are so short that separate operators are faster. */
static bool walk_all(rush_fused *w, rush_ctx *ctx, const rush_tensor *stored) {
  loop l = {.w = w, .n = stored->numel, .item = rush_itemsize(stored)};
  if (w->n_aside == 0) {
    const int64_t lines = (l.n - 1) / LINE + 1;
    rush_parallel(ctx, (size_t)lines, w->n * (uint64_t)(lines > 1 ? LINE : l.n), run_lines, &l);
    return true;
  }
  const rush_tensor *all[RUSH_ITER_MAX] = {stored};
  for (uint32_t k = 0; k < w->n_aside; k++) all[k + 1] = w->outside[w->aside[k] - STEPS].t;
  rush_iter_init(&l.it, stored->rank, stored->sizes, (int)w->n_aside + 1, all);
  if (l.it.size[0] <= SHORT && l.it.rank > 1) return false;
  l.first = l.it.at[0];
  rush_parallel_planes(ctx, &l.it, l.n, w->n, run_planes, &l);
  return true;
}

bool rush_fused_run(rush_fused *w, rush_ctx *ctx, rush_heap *heap, rush_value *results) {
  const rush_tensor *stored;
  if (!w->block && (!assign_slots(w) || !fill_blocks(w, ctx))) return false;
  w->fault = NULL;
  if (place_values(w, heap, results, &stored) && walk_all(w, ctx, stored) && !w->fault) return true;
  for (uint32_t k = 0; k < w->n; k++) rush_drop(heap, results + k);
  return false;
}
