#include "blocks/elements/pointwise_rows.h"

/* ---- Operands and destination ---------------------------------------------------------------- */

typedef rush_pw_operands operands;

static bool same_sizes(const operands *o, const rush_tensor *t);

static rush_status broadcast_sizes(rush_call *c, const rush_pw_job *job, operands *o) {
  bool any = false;
  o->flat = true;
  o->rank = 0;
  o->turned = false;
  for (int k = 0; k < job->n; k++) {
    const rush_value *v = &c->args[job->arg[k]];
    const rush_tensor *t = o->t[k] = v->kind == RUSH_KIND_TENSOR ? rush_as_tensor(v) : NULL;
    if (!t || t->rank == 0) continue;
    o->turned = o->turned || rush_is_turned(t);
    o->flat = o->flat && rush_is_plainly_contiguous(t) && !o->turned;
    if (!any) {
      any = true;
      o->rank = t->rank;
      for (int d = 0; d < t->rank; d++) o->sizes[d] = t->sizes[d];
      continue;
    }
    if (same_sizes(o, t)) continue;
    o->flat = false;
    int64_t sizes[RUSH_MAX_RANK];
    int rank;
    if (!rush_broadcast(o->rank, o->sizes, t->rank, t->sizes, &rank, sizes)) {
      for (int d = 1;; d++) {
        int64_t a = o->sizes[o->rank - d], b = t->sizes[t->rank - d];
        if (a == b || a == 1 || b == 1) continue;
        return rush_fail(
            c->ctx, RUSH_ERR_BAD_ARGUMENT,
            "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton "
            "dimension %d",
            (long long)a, (long long)b, rank - d);
      }
    }
    o->rank = rank;
    memcpy(o->sizes, sizes, (size_t)rank * sizeof *sizes);
  }
  return RUSH_OK;
}

static bool same_sizes(const operands *o, const rush_tensor *t) {
  return t->rank == o->rank && memcmp(t->sizes, o->sizes, t->rank * sizeof *t->sizes) == 0;
}

/* Stores the strides of the operands, as TensorIterator gives them. */
static void strides_of_operands(const rush_pw_plan *plan, int64_t *strides, int64_t *nominal) {
  const rush_pw_job *job = &plan->job;
  const operands *o = &plan->o;
  int n = job->n;
  while ((job->row->flags & RUSH_PW_NUMBER_ASIDE) != 0 && n > 1 && !o->t[n - 1]) n--;
  rush_strides_of_result(o->rank, o->sizes, n, (const rush_tensor *const *)o->t, strides);
  if (!o->turned) {
    memcpy(nominal, strides, (size_t)o->rank * sizeof *nominal);
    return;
  }
  rush_tensor seen[RUSH_PW_OPERANDS];
  const rush_tensor *all[RUSH_PW_OPERANDS];
  for (int k = 0; k < n; k++) {
    if (o->t[k]) seen[k] = rush_nominal_header(o->t[k]);
    all[k] = o->t[k] ? &seen[k] : NULL;
  }
  rush_strides_of_result(o->rank, o->sizes, n, all, nominal);
}

/* But for rows whose results do not follow it. */
void rush_pw_result_strides(const rush_call *c, const rush_pw_plan *plan, int64_t *strides,
                            int64_t *nominal) {
  const operands *o = &plan->o;
  const uint32_t flags = plan->job.row->flags;
  const bool contiguous =
      (flags & RUSH_PW_CONTIGUOUS) != 0 ||
      ((flags & RUSH_PW_NUMBER_FIRST) != 0 && c->args[0].kind != RUSH_KIND_TENSOR);
  strides_of_operands(plan, strides, nominal);
  if (contiguous) {
    rush_strides_contiguous(o->rank, o->sizes, nominal);
  } else if ((flags & RUSH_PW_LIKE_SELF) != 0 && same_sizes(o, arg_tensor(c, 0))) {
    const rush_tensor seen = rush_nominal_header(arg_tensor(c, 0));
    rush_strides_of_copy(&seen, nominal);
  } else {
    return;
  }
  if (!o->turned) memcpy(strides, nominal, (size_t)o->rank * sizeof *strides);
}

static rush_status check_inplace(rush_call *c, const operands *o, rush_dtype dtype) {
  const rush_tensor *dst = c->inplace;
  char want[RUSH_SHAPE_TEXT], have[RUSH_SHAPE_TEXT];
  RUSH_CHECK(c->ctx, same_sizes(o, dst), RUSH_ERR_BAD_ARGUMENT,
             "output with shape %s doesn't match the broadcast shape %s",
             rush_shape_text(dst->rank, dst->sizes, have),
             rush_shape_text(o->rank, o->sizes, want));
  RUSH_CHECK(c->ctx, rush_can_cast(dtype, dst->dtype), RUSH_ERR_BAD_ARGUMENT,
             "result type %s can't be cast to the desired output type %s",
             rush_dtype_torch_name(dtype), rush_dtype_torch_name(dst->dtype));
  return rush_check_write(c->ctx, dst);
}

/* Stores in *safe whether element i of `dst` may be written as soon as element i of operand k is
 * read. Fails if the two share elements in other positions and both are dense, as PyTorch does. */
static rush_status check_write_order(rush_ctx *ctx, const rush_tensor *dst,
                                     const rush_pw_plan *plan, int k, bool *safe) {
  const rush_tensor *t = plan->o.t[k];
  if (!t || !rush_may_overlap(dst, t)) return RUSH_OK;
  if (dst->offset == t->offset && dst->dtype == t->dtype && rush_same_strides(dst, t))
    return RUSH_OK;
  *safe = false;
  return k == 1 && (plan->job.row->flags & RUSH_PW_ITEM) ? RUSH_OK
                                                         : rush_check_no_overlap(ctx, dst, t);
}

/* Stores the tensor to write, which is also set as the result. */
static rush_status result_tensor(rush_call *c, const rush_pw_plan *plan, rush_tensor **out) {
  const rush_pw_job *job = &plan->job;
  const operands *o = &plan->o;
  const rush_dtype dtype = plan->result;
  if (c->inplace) {
    RUSH_TRY(check_inplace(c, o, dtype));
    bool safe = true;
    for (int k = 0; k < job->n; k++)
      RUSH_TRY(check_write_order(c->ctx, c->inplace, plan, k, &safe));
    if (safe) {
      *out = c->inplace;
      c->results[0] = rush_of_tensor(rush_tensor_retain(c->inplace));
      return RUSH_OK;
    }
  }
  for (int k = 0; k < job->n && o->flat && !c->inplace; k++) {
    rush_tensor *t = o->t[k];
    if (!t || t->rank != o->rank || t->dtype != dtype || !rush_can_reuse(c, job->arg[k])) continue;
    *out = t;
    c->results[0] = rush_of_tensor(rush_tensor_retain(t));
    return RUSH_OK;
  }
  if (o->flat) return rush_result(c, 0, dtype, o->rank, o->sizes, out);
  int64_t strides[RUSH_MAX_RANK], nominal[RUSH_MAX_RANK];
  rush_pw_result_strides(c, plan, strides, nominal);
  for (int k = 0; k < job->n && !c->inplace; k++) {
    rush_tensor *t = o->t[k];
    if (!t || !same_sizes(o, t) || t->dtype != dtype || !rush_can_reuse_turned(c, job->arg[k]))
      continue;
    if (memcmp(rush_nominal(t), nominal, (size_t)o->rank * sizeof *nominal) != 0) continue;
    *out = t;
    c->results[0] = rush_of_tensor(rush_tensor_retain(t));
    return RUSH_OK;
  }
  return rush_result_turned(c, 0, dtype, o->rank, o->sizes, strides, nominal, out);
}

/* ---- The call -------------------------------------------------------------------------------- */

static rush_pw_body *choose_body(const rush_pw_job *job, rush_dtype *compute) {
  const rush_pointwise *row = job->row;
  if (row->flags & RUSH_PW_AS_BOOL) return *compute = RUSH_BOOL, row->b8;
  if (RUSH_LIKELY(job->common == RUSH_FLOAT32)) return *compute = RUSH_FLOAT32, row->f32;
  switch (job->common) {
    case RUSH_FLOAT16:
    case RUSH_BFLOAT16:
      return *compute = RUSH_FLOAT32, row->f32;
    case RUSH_FLOAT64:
      return *compute = RUSH_FLOAT64, row->f64;
    case RUSH_COMPLEX64:
      if (row->c64) return *compute = RUSH_COMPLEX64, row->c64;
      /* fallthrough */
    case RUSH_COMPLEX128:
      return *compute = RUSH_COMPLEX128, row->c128;
    case RUSH_BOOL:
      if (row->flags & RUSH_PW_NO_BOOL) return NULL;
      if (row->b8) return *compute = RUSH_BOOL, row->b8;
      break;
    case RUSH_INT32:
      if (row->i32) return *compute = RUSH_INT32, row->i32;
      break;
    default:
      break;
  }
  return *compute = RUSH_INT64, row->i64;
}

static bool is_exact(const rush_pw_job *job, uint32_t arg) {
  return (job->row->flags & RUSH_PW_EXACT) != 0 && job->arg[job->n - 1] == arg;
}

void rush_pw_place_scalar(const rush_call *c, const rush_pw_plan *plan, int k, int64_t to[2]) {
  const rush_pw_job *job = &plan->job;
  const uint32_t arg = job->arg[k];
  const rush_dtype compute = rush_pw_operand_dtype(plan, k);
  const rush_value *v = &c->args[arg];
  int64_t wide;
  if (v->kind == RUSH_KIND_COMPLEX) {
    rush_convert(compute, to, RUSH_COMPLEX128, &((const rush_complex *)v->u.ref)->re, 1);
    return;
  }
  const bool is_float = v->kind == RUSH_KIND_FLOAT;
  const bool narrows =
      is_float ? rush_is_half(job->common) && !is_exact(job, arg) : rush_is_int(job->common);
  if (compute != job->common && narrows) { /* wraps, or is rounded, first */
    rush_convert(job->common, &wide, is_float ? RUSH_FLOAT64 : RUSH_INT64, &v->u, 1);
    rush_convert(compute, to, job->common, &wide, 1);
  } else {
    rush_convert(compute, to, is_float ? RUSH_FLOAT64 : RUSH_INT64, &v->u, 1);
  }
}

/* Returns whether integers of an operand wrap, because the body takes it in a dtype other than the
 * common one. */
static bool must_wrap(const rush_pw_job *job, uint32_t arg, const rush_tensor *t) {
  if (t->dtype == job->common || rush_itemsize(t) < rush_dtype_size(job->common)) return false;
  return rush_is_int(job->common) ||
         (rush_is_half(job->common) && !(t->rank == 0 && is_exact(job, arg)));
}

rush_dtype rush_pw_operand_dtype(const rush_pw_plan *plan, int k) {
  return k == 0 && (plan->job.row->flags & RUSH_PW_MASK) != 0 ? RUSH_BOOL : plan->compute;
}

static rush_status run_plan(rush_call *c, rush_pw_plan *plan) {
  rush_pw_job *job = &plan->job;
  const operands *o = &plan->o;
  int64_t scalar[RUSH_PW_OPERANDS][2];
  rush_pw_run r;
  rush_tensor *dst;
  RUSH_TRY(result_tensor(c, plan, &dst));
  if (dst->numel == 0) return RUSH_OK;
  size_t greatest = sizeof(float);
  r.body = plan->body;
  r.p = &job->p;
  r.n = job->n;
  r.common = job->common;
  r.memory[0] = dst->dtype;
  r.body_type[0] = plan->written;
  r.wraps[0] = false;
  for (int k = 0; k < job->n; k++) {
    const bool mask = k == 0 && (job->row->flags & RUSH_PW_MASK) != 0;
    r.body_type[k + 1] = rush_pw_operand_dtype(plan, k);
    r.memory[k + 1] = o->t[k] ? o->t[k]->dtype : r.body_type[k + 1];
    r.held[k + 1] = NULL;
    r.wraps[k + 1] =
        plan->compute != job->common && !mask && o->t[k] && must_wrap(job, job->arg[k], o->t[k]);
    if (!o->t[k]) rush_pw_place_scalar(c, plan, k, scalar[k]);
  }
  for (int k = 0; k <= r.n; k++) {
    const size_t item = rush_dtype_size(r.memory[k]), wide = rush_dtype_size(r.body_type[k]);
    if (item > greatest) greatest = item;
    if (wide > greatest) greatest = wide;
  }
  r.block = (int64_t)(sizeof r.spare / greatest);
  rush_pw_run_all(c->ctx, &r, o, scalar, dst);
  if (job->p.fault) {
    rush_drop(c->heap, &c->results[0]);
    return rush_fail(c->ctx, RUSH_ERR_BAD_ARGUMENT, "%s", job->p.fault);
  }
  return RUSH_OK;
}

/* Complex numbers are operands of rows that have a body for them; other numbers may be complex
 * where the row says so, and the common dtype is. */
static rush_status check_numbers(const rush_call *c, const rush_pw_job *job) {
  const bool others = (job->row->flags & RUSH_PW_COMPLEX_NUMBERS) != 0;
  for (uint32_t k = 0; k < c->n_args; k++) {
    if (c->args[k].kind != RUSH_KIND_COMPLEX) continue;
    RUSH_CHECK(
        c->ctx,
        (others || (int)k < job->row->operands) && job->row->c128 && rush_is_complex(job->common),
        RUSH_ERR_UNSUPPORTED, "expected a real number, got a complex one");
  }
  return RUSH_OK;
}

static rush_status plan_job(rush_call *c, rush_pw_plan *plan) {
  rush_pw_job *job = &plan->job;
  const rush_pointwise *row = job->row;
  plan->body = choose_body(job, &plan->compute);
  RUSH_CHECK(c->ctx, plan->body, RUSH_ERR_BAD_ARGUMENT, "not implemented for '%s'",
             rush_dtype_torch_name(job->common));
  RUSH_TRY(broadcast_sizes(c, job, &plan->o));
  const bool to_bool = (row->flags & (RUSH_PW_TO_BOOL | RUSH_PW_AS_BOOL)) != 0;
  const bool to_real = (row->flags & RUSH_PW_TO_REAL) != 0 && rush_is_complex(job->common);
  plan->result = to_bool ? RUSH_BOOL : to_real ? rush_real_dtype(job->common) : job->common;
  plan->written = to_bool ? RUSH_BOOL : to_real ? rush_real_dtype(plan->compute) : plan->compute;
  job->p.fault = NULL;
  job->p.fn = row->fn;
  job->p.fn32 = row->fn32;
  job->p.fn2 = row->fn2;
  job->p.fn2_32 = row->fn2_32;
  job->p.cfn = row->cfn;
  job->p.common = job->common;
  if (rush_is_integral(job->common)) {
    job->p.bits = job->common == RUSH_BOOL ? 1 : 8 * (int)rush_dtype_size(job->common);
    job->p.is_signed = job->common != RUSH_UINT8;
  }
  return RUSH_OK;
}

rush_status rush_pw_plan_call(rush_call *c, const rush_pointwise *row, rush_pw_plan *plan) {
  rush_pw_job *job = &plan->job;
  uint32_t mask = 0;
  *job = (rush_pw_job){.row = row, .n = row->operands};
  for (int k = 0; k < job->n; k++) {
    job->arg[k] = (uint32_t)k;
    if (k > 0 || (row->flags & RUSH_PW_MASK) == 0) mask |= 1u << k;
  }
  if (row->flags & RUSH_PW_KEEP_SELF) {
    job->common = arg_tensor(c, 0)->dtype;
  } else {
    job->common = arg_result_type(c, mask);
  }
  if ((row->flags & RUSH_PW_TO_FLOAT) && rush_is_integral(job->common)) job->common = RUSH_FLOAT32;
  RUSH_TRY(check_numbers(c, job));
  if (row->setup) RUSH_TRY(row->setup(c, job));
  return plan_job(c, plan);
}

rush_status rush_pointwise_call(rush_call *c, const rush_pointwise *row) {
  rush_pw_plan plan;
  RUSH_TRY(rush_pw_plan_call(c, row, &plan));
  return run_plan(c, &plan);
}

rush_status rush_pointwise_on(rush_call *c, const rush_pointwise *row, uint32_t n,
                              const rush_value *args, rush_tensor **out) {
  rush_value result = rush_none();
  rush_call sub = *c;
  sub.n_args = n;
  sub.n_results = 1;
  sub.args = args;
  sub.results = &result;
  sub.inplace = NULL;
  sub.last_use = 0;
  *out = NULL;
  RUSH_TRY(rush_pointwise_call(&sub, row));
  *out = rush_as_tensor(&result);
  return RUSH_OK;
}

static rush_status run_into(rush_call *c, const rush_pointwise *row) {
  c->inplace = arg_tensor(c, 0);
  RUSH_TRY(rush_pointwise_call(c, row));
  if (rush_as_tensor(&c->results[0]) == c->inplace) return RUSH_OK;
  rush_status st = rush_copy_into(c->heap, c->inplace, rush_as_tensor(&c->results[0]));
  rush_drop(c->heap, &c->results[0]);
  if (st == RUSH_OK) ret_retained(c, 0, &c->args[0]);
  return st;
}

rush_status rush_run_pointwise(rush_call *c) {
  const rush_pointwise *row = c->op->family;
  return row->flags & RUSH_PW_INTO ? run_into(c, row) : rush_pointwise_call(c, row);
}
