#include "program.h"

#include "builder.h"
#include "call/schema.h"
#include "fuzz.h"
#include "mutate.h"

enum { VALUES = 256, BLOCKS = 4, MOST_ARGS = 16 };

/* A readable value: a register or K(constant), and its possible kinds. */
typedef struct known {
  uint32_t operand;
  rush_kinds kinds;
} known;

typedef struct block {
  bool loop, second; /* in a LOOP; after an ELSE */
  uint32_t result;   /* register of the result, or RUSH_NONE */
  int n_outside;     /* number of values outside */
} block;

typedef struct program {
  builder b;
  rush_ctx *ctx;
  fuzz_bytes bytes;
  bool hostile;    /* also has extreme values */
  bool large;      /* sizes with a product beyond 32 bits */
  bool shares;     /* most tensors are views of a buffer */
  uint8_t dtype;   /* most views have this dtype, to match each other */
  uint32_t buffer; /* register of the buffer */
  known values[VALUES];
  int n_values;
  block blocks[BLOCKS];
  int n_blocks;
  uint32_t any; /* type */
} program;

static uint8_t byte(program *p) {
  return fuzz_u8(&p->bytes);
}

static void know(program *p, uint32_t operand, rush_kinds kinds) {
  if (p->n_values < VALUES) p->values[p->n_values++] = (known){operand, kinds};
}

/* ---- Constants ------------------------------------------------------------------------------- */

static int64_t pick_int(program *p) {
  uint8_t v = byte(p);
  uint64_t random = v;
  static const int64_t plain[] = {0, 1, 2, 3, -1, 4, 5, 6, 7, 11, -2, 8, 10, 16, -3, 9};
  if (p->hostile && v >= 160) return v % 2 ? -hostile_number(&random) : hostile_number(&random);
  return plain[v % 16];
}

static double pick_float(program *p) {
  static const double plain[] = {0.5, 0, 1, -1, 2, 0.1, 1e-5, 3.5};
  static const double hostile[] = {-0.0,  1e300,           -1e300,           1e-310,           1e19,
                                   -1e19, __builtin_inf(), -__builtin_inf(), __builtin_nan("")};
  uint8_t v = byte(p);
  if (p->hostile && v >= 160) return hostile[v % (sizeof hostile / sizeof *hostile)];
  return plain[v % 8];
}

static uint32_t pick_text(program *p) {
  static const char *const texts[] = {"sum",
                                      "mean",
                                      "none",
                                      "constant",
                                      "reflect",
                                      "replicate",
                                      "circular",
                                      "ij",
                                      "xy",
                                      "floor",
                                      "trunc",
                                      "tanh",
                                      "linear",
                                      "nearest",
                                      "bilinear",
                                      "fro",
                                      "nuc",
                                      "left",
                                      "a,b->ba",
                                      "ij,jk->ik",
                                      "...i,i",
                                      "%s %d {} {0}",
                                      "a b c",
                                      "",
                                      "\n",
                                      "1e400",
                                      "-12",
                                      "0x1p3",
                                      "\xC3\xA4\xE2\x82\xAC",
                                      "abcabcabcabcabcabcabcabcabcabcabcabc"};
  return build_str(&p->b, texts[byte(p) % (sizeof texts / sizeof *texts)]);
}

static const struct {
  int rank;
  int64_t sizes[RUSH_MAX_RANK];
} shapes[] =
    {
        {2, {3, 4}},
        {0, {0}},
        {1, {4}},
        {1, {3}},
        {2, {4, 4}},
        {3, {2, 3, 4}},
        {4, {2, 3, 4, 4}},
        {4, {1, 2, 5, 5}},
        {4, {2, 1, 3, 3}},
        {4, {4, 2, 3, 3}},
        {3, {1, 4, 4}},
        {1, {1}},
        {1, {2}},
        {2, {1, 4}},
        {2, {3, 1}},
        {3, {4, 2, 3}},
        {2, {0, 4}},
        {2, {4, 0}},
        {1, {0}},
        {1, {17}},
        {2, {2, 33}},
        {5, {1, 2, 2, 3, 3}},
        {8, {1, 2, 1, 2, 1, 2, 1, 2}},
        {3, {0, 1, 3}},
        {4, {0, 3, 4, 4}},
        {5, {2, 1, 2, 2, 2}},
},
  giants[] =
      {
          {2, {(int64_t)1 << 62, 0}},
          {2, {0, (int64_t)1 << 62}},
          {2, {1000000, 0}},
          {1, {(int64_t)1 << 32 | 4}},
          {2, {2, (int64_t)1 << 32 | 4}},
          {2, {(int64_t)1 << 31, (int64_t)1 << 31}},
          {1, {(int64_t)1 << 20}},
          {4, {1, 1, (int64_t)1 << 31, (int64_t)1 << 31}},
          {1, {INT64_MAX}},
          {3, {(int64_t)1 << 61, 3, 0}},
          {2, {2048, 512}},
},
  wide[] = {{1, {1 << 29}},          {4, {1, 1, 1, 1 << 29}}, {4, {1, 1, 1 << 29, 1}},
            {2, {1 << 15, 1 << 14}}, {2, {3, 1 << 28}},       {1, {(1 << 30) + 4}}};

static void fill_element(char *at, rush_dtype dtype, uint8_t how, size_t i) {
  double f = how % 4 == 0   ? (double)(i % 7) - 2
             : how % 4 == 1 ? 0.25 * (double)i - 1
             : how % 4 == 2 ? (double)(i % 3)
                            : 1;
  if (how >= 224) f = i % 3 == 0 ? __builtin_nan("") : i % 3 == 1 ? __builtin_inf() : 1e30;
  int64_t n = (int64_t)(how >= 224 ? 0 : f);
  if (how >= 240) n = i % 2 ? INT64_MIN : INT64_MAX;
  float f32 = (float)f;
  int32_t n32 = (int32_t)(how >= 240 ? (i % 2 ? INT32_MIN : INT32_MAX) : n);
  switch (dtype) {
    case RUSH_FLOAT32:
      memcpy(at, &f32, sizeof f32);
      return;
    case RUSH_FLOAT64:
      memcpy(at, &f, sizeof f);
      return;
    case RUSH_INT64:
      memcpy(at, &n, sizeof n);
      return;
    case RUSH_INT32:
      memcpy(at, &n32, sizeof n32);
      return;
    case RUSH_BOOL:
      *at = (char)(n & 1);
      return;
    case RUSH_INT16:
      memcpy(at, &n, 2);
      return;
    case RUSH_FLOAT16: /* the bits stand for another number */
    case RUSH_BFLOAT16:
      memcpy(at, (const char *)&f32 + 2, 2);
      return;
    case RUSH_COMPLEX64:
    case RUSH_COMPLEX128:
      fill_element(at, dtype == RUSH_COMPLEX64 ? RUSH_FLOAT32 : RUSH_FLOAT64, how, i);
      fill_element(at + (dtype == RUSH_COMPLEX64 ? 4 : 8),
                   dtype == RUSH_COMPLEX64 ? RUSH_FLOAT32 : RUSH_FLOAT64, how, i + 1);
      return;
    default:
      *at = (char)n;
  }
}

static size_t item_bytes(rush_dtype dtype) {
  switch (dtype) {
    case RUSH_UINT8:
    case RUSH_INT8:
    case RUSH_BOOL:
      return 1;
    case RUSH_INT16:
    case RUSH_FLOAT16:
    case RUSH_BFLOAT16:
      return 2;
    case RUSH_INT32:
    case RUSH_FLOAT32:
      return 4;
    case RUSH_COMPLEX128:
      return 16;
    default:
      return 8;
  }
}

/* Computes the strides of a view by `how`. Returns how many elements its storage needs. */
static size_t lay(int rank, const int64_t *sizes, uint8_t how, int64_t *strides) {
  int64_t step = 1, last = 0;
  bool empty = false, backwards = how % 8 == 5;
  for (int k = 0; k < rank; k++) {
    int d = backwards ? k : rank - 1 - k; /* from the innermost dimension */
    strides[d] = how % 8 == 7 ? 1 : how % 8 == 6 && d == (how >> 3) % rank ? 0 : step;
    if (sizes[d] > 4096) strides[d] = 0;
    if (sizes[d] == 0)
      empty = true;
    else if (strides[d])
      last += (sizes[d] - 1) * strides[d];
    if (strides[d] && sizes[d] > 0) step *= sizes[d];
  }
  return empty ? 0 : (size_t)last + 1;
}

static uint32_t pick_tensor(program *p) {
  static const uint8_t dtypes[] = {RUSH_FLOAT32, RUSH_FLOAT32, RUSH_FLOAT32, RUSH_INT64,
                                   RUSH_FLOAT64, RUSH_INT32,   RUSH_BOOL,    RUSH_UINT8};
  static const uint8_t rare[] = {RUSH_INT8,     RUSH_INT16,     RUSH_FLOAT16,
                                 RUSH_BFLOAT16, RUSH_COMPLEX64, RUSH_COMPLEX128};
  uint8_t shape = byte(p), what = byte(p), how = byte(p);
  int rank;
  int64_t sizes[RUSH_MAX_RANK] = {0}, strides[RUSH_MAX_RANK] = {0};
  bool giant = p->hostile && shape >= 208;
  size_t s =
      giant ? shape % (sizeof giants / sizeof *giants) : shape % (sizeof shapes / sizeof *shapes);
  if (giant && p->large) {
    s = shape % (sizeof wide / sizeof *wide);
    rank = wide[s].rank;
    memcpy(sizes, wide[s].sizes, sizeof sizes);
  } else {
    rank = giant ? giants[s].rank : shapes[s].rank;
    memcpy(sizes, giant ? giants[s].sizes : shapes[s].sizes, sizeof sizes);
  }
  rush_dtype dtype = (rush_dtype)(what % 32 >= 26 ? rare[what % 32 - 26] : dtypes[what % 8]);
  size_t n = lay(rank, sizes, how, strides), item = item_bytes(dtype);
  char *data = calloc(n + 1, item);
  for (size_t i = 0; i < n; i++) fill_element(data + i * item, dtype, what, i);
  uint32_t storage = build_storage(&p->b, data, n * item);
  free(data);
  return build_const(&p->b, RUSH_CONST_TENSOR,
                     build_view(&p->b, storage, dtype, rank, sizes, strides, 0), 0, 0);
}

static uint32_t pick_constant(program *p, rush_kinds kinds, rush_kinds items, int levels);

static uint32_t list_type(program *p, uint32_t kind) {
  if (kind == RUSH_KIND_DICT)
    return build_type_n(&p->b, RUSH_TYPE_DICT, 2, (uint32_t[]){p->any, p->any});
  return build_type_n(&p->b, RUSH_TYPE_LIST, 1, &p->any);
}

static uint32_t pick_items(program *p, uint32_t kind, rush_kinds items, int levels) {
  uint32_t at[8], types[8], n = byte(p) % 6u;
  if (kind == RUSH_KIND_DICT) n = n / 2 * 2;
  if (items == RUSH_KINDS_ANY)
    items = RUSH_KIND_BIT(byte(p) % 2 ? RUSH_KIND_INT : RUSH_KIND_FLOAT) |
            (byte(p) % 4 ? 0 : RUSH_KIND_BIT(RUSH_KIND_STR));
  for (uint32_t k = 0; k < n; k++) {
    bool nested = levels > 0 && p->hostile && byte(p) >= 240;
    at[k] = pick_constant(p, nested ? RUSH_KIND_BIT(RUSH_KIND_LIST) : items, items, levels - 1);
    types[k] = p->any;
  }
  if (kind == RUSH_KIND_TUPLE)
    return build_items(&p->b, RUSH_CONST_TUPLE, build_type_n(&p->b, RUSH_TYPE_TUPLE, n, types), n,
                       at);
  return build_items(&p->b, kind == RUSH_KIND_DICT ? RUSH_CONST_DICT : RUSH_CONST_LIST,
                     list_type(p, kind), n, at);
}

/* Returns the kind that the next byte selects. */
static uint32_t pick_kind(program *p, rush_kinds kinds) {
  uint32_t known_kinds = RUSH_KIND_BIT(RUSH_KIND_DEVICE + 1) - 1;
  kinds &= known_kinds;
  if (!kinds) return RUSH_KIND_NONE;
  int n = byte(p) % __builtin_popcount(kinds);
  while (n-- > 0) kinds &= kinds - 1;
  return (uint32_t)__builtin_ctz(kinds);
}

static uint64_t bits_of(double f) {
  uint64_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static uint32_t pick_constant(program *p, rush_kinds kinds, rush_kinds items, int levels) {
  uint32_t kind = pick_kind(p, kinds);
  switch (kind) {
    case RUSH_KIND_TENSOR:
      return pick_tensor(p);
    case RUSH_KIND_INT:
      return build_int(&p->b, pick_int(p));
    case RUSH_KIND_FLOAT:
      return build_float(&p->b, pick_float(p));
    case RUSH_KIND_BOOL:
      return build_bool(&p->b, byte(p) % 2);
    case RUSH_KIND_COMPLEX:
      return build_const(&p->b, RUSH_CONST_COMPLEX, 0, bits_of(pick_float(p)),
                         bits_of(pick_float(p)));
    case RUSH_KIND_STR:
      return build_const(&p->b, RUSH_CONST_STR, pick_text(p), 0, 0);
    case RUSH_KIND_DEVICE:
      return build_const(&p->b, RUSH_CONST_DEVICE, build_str(&p->b, "cpu"), 0, 0);
    case RUSH_KIND_LIST:
    case RUSH_KIND_TUPLE:
    case RUSH_KIND_DICT:
      return pick_items(p, kind, items, levels);
    default:
      return build_none(&p->b);
  }
}

/* ---- Operators ------------------------------------------------------------------------------- */

static uint32_t emit(program *p, const char *name, rush_kinds kinds, uint32_t n,
                     const uint32_t *in) {
  uint32_t out = build_call(&p->b, name, p->any, n, in);
  know(p, out, kinds);
  return out;
}

/* Returns a value of the program, newest first, or RUSH_NONE if none fits. */
static uint32_t pick_known(program *p, rush_kinds kinds, uint8_t skip) {
  uint32_t found = RUSH_NONE;
  for (int k = p->n_values; k-- > 0;) {
    if (!(p->values[k].kinds & kinds)) continue;
    found = p->values[k].operand;
    if (skip-- == 0) break;
  }
  return found;
}

/* Makes a list in the program, which the program may change. */
static uint32_t make_list(program *p, rush_kinds items) {
  uint32_t in[4], n = byte(p) % 5u;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t v = byte(p) % 2 ? pick_known(p, items, byte(p) % 4) : RUSH_NONE;
    in[k] =
        v != RUSH_NONE ? v : K(pick_constant(p, items & ~RUSH_KIND_BIT(RUSH_KIND_LIST), items, 0));
  }
  return emit(p, "prim::ListConstruct", RUSH_KIND_BIT(RUSH_KIND_LIST), n, in);
}

/* ---- One buffer ------------------------------------------------------------------------------ */

enum { SHARED_BYTES = 1024 };

/* Makes zeros and ones for every integer dtype in writable memory. */
static uint32_t make_buffer(program *p) {
  uint8_t bytes[SHARED_BYTES] = {0};
  for (size_t i = 0; i < SHARED_BYTES; i += 8) bytes[i] = i / 8 % 2;
  const int64_t n = SHARED_BYTES;
  uint32_t in[] = {K(build_tensor(&p->b, RUSH_UINT8, 1, &n, bytes)), K(build_none(&p->b))};
  return build_call(&p->b, "aten::clone", p->any, 2, in);
}

static uint32_t ints(program *p, int n, const int64_t *values) {
  uint32_t items[RUSH_MAX_RANK];
  for (int k = 0; k < n; k++) items[k] = build_int(&p->b, values[k]);
  return K(build_items(&p->b, RUSH_CONST_LIST, list_type(p, RUSH_KIND_LIST), (uint32_t)n, items));
}

/* Makes a view of the buffer. An operator may write to it while it reads another view. */
static uint32_t pick_shared(program *p) {
  static const uint8_t dtypes[] = {RUSH_INT64, RUSH_BOOL, RUSH_FLOAT32, RUSH_UINT8};
  const uint8_t shape = byte(p), what = byte(p), how = byte(p);
  const size_t s = shape % (sizeof shapes / sizeof *shapes);
  const rush_dtype dtype = (rush_dtype)dtypes[(what % 4 == 0 ? what / 4 : p->dtype) % 4];
  int64_t strides[RUSH_MAX_RANK] = {0};
  (void)lay(shapes[s].rank, shapes[s].sizes, how, strides);
  uint32_t in[] = {p->buffer, K(build_int(&p->b, dtype)), 0, 0};
  in[0] = build_call(&p->b, "aten::view.dtype", p->any, 2, in);
  in[1] = ints(p, shapes[s].rank, shapes[s].sizes);
  in[2] = ints(p, shapes[s].rank, strides);
  in[3] = K(build_int(&p->b, what / 16 % 8));
  return emit(p, "aten::as_strided", RUSH_KIND_BIT(RUSH_KIND_TENSOR), 4, in);
}

static uint32_t default_of(program *p, const rush_schema_arg *a) {
  uint32_t items[RUSH_DEFAULT_MAX_INTS], n = a->n_ints;
  if (a->otherwise == RUSH_DEFAULT_STR) {
    char text[64] = {0};
    memcpy(text, a->text, a->text_size < 63 ? a->text_size : 63);
    return build_const(&p->b, RUSH_CONST_STR, build_str(&p->b, text), 0, 0);
  }
  if (a->otherwise == RUSH_DEFAULT_INTS) {
    for (uint32_t k = 0; k < n; k++) items[k] = build_int(&p->b, a->ints[k]);
    return build_items(&p->b, RUSH_CONST_LIST, list_type(p, RUSH_KIND_LIST), n, items);
  }
  if (a->value.kind == RUSH_KIND_INT) return build_int(&p->b, a->value.u.i);
  if (a->value.kind == RUSH_KIND_BOOL) return build_bool(&p->b, a->value.u.i != 0);
  return a->value.kind == RUSH_KIND_FLOAT ? build_float(&p->b, a->value.u.f) : build_none(&p->b);
}

static uint32_t pick_argument(program *p, const rush_schema_arg *a) {
  uint8_t how = byte(p);
  if (p->shares && (a->kinds & RUSH_KIND_BIT(RUSH_KIND_TENSOR)) && how >= (a->written ? 16 : 96))
    return pick_shared(p);
  if (a->otherwise != RUSH_DEFAULT_ABSENT && how >= 160) return K(default_of(p, a));
  if (how < 128) {
    uint32_t v = pick_known(p, a->kinds, how % 8);
    if (v != RUSH_NONE) return v;
  }
  rush_kinds kinds = a->kinds;
  if (kinds == RUSH_KINDS_ANY && how % 2) kinds = RUSH_KIND_BIT(RUSH_KIND_TENSOR);
  if ((kinds & RUSH_KIND_BIT(RUSH_KIND_LIST)) && how % 4 == 1) return make_list(p, a->items);
  uint32_t constant = pick_constant(p, kinds, a->items, 2);
  if (!(kinds & RUSH_KIND_BIT(RUSH_KIND_TENSOR)) || how % 4 == 3) return K(constant);
  const rush_file_constant *c = build_at(&p->b, RUSH_SEC_CONSTANTS, constant);
  if (c->kind != RUSH_CONST_TENSOR || !(a->written || how % 4 == 2)) return K(constant);
  uint32_t in[] = {K(constant), K(build_none(&p->b))}; /* its own memory, which may be written */
  return emit(p, "aten::clone", RUSH_KIND_BIT(RUSH_KIND_TENSOR), 2, in);
}

/* A name that a row serves, ordered by its hash. */
typedef struct named {
  uint32_t hash;
  bool inplace;
  const rush_op *op;
} named;

static int by_hash(const void *a, const void *b) {
  const named *x = a, *y = b;
  return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static uint32_t hash_of(const char *name, size_t n, bool inplace) {
  return (uint32_t)(fuzz_hash(inplace ? 7 : 1469598103u, name, n) >> 8) & 0xFFFFFF;
}

static size_t all_names(named *out) {
  size_t n = 0;
  for (size_t i = 0; i < rush_op_count(); i++) {
    const rush_op *op = rush_op_at(i);
    for (int form = 0; form < (op->flags & RUSH_OP_INPLACE ? 2 : 1); form++)
      out[n++] = (named){hash_of(op->schema, strcspn(op->schema, "("), form), form, op};
  }
  qsort(out, n, sizeof *out, by_hash);
  return n;
}

/* Finds the name with the next hash. A program stays the same when other rows are added. */
static const rush_op *pick_op(program *p, bool *inplace) {
  static named *names;
  static size_t n;
  if (!names) {
    names = calloc(2 * rush_op_count(), sizeof *names);
    n = all_names(names);
  }
  uint32_t want = (uint32_t)byte(p) << 16 | (uint32_t)byte(p) << 8 | byte(p);
  size_t low = 0, high = n;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (names[middle].hash < want)
      low = middle + 1;
    else
      high = middle;
  }
  const named *found = names + (low == n ? 0 : low);
  *inplace = found->inplace;
  return found->op;
}

/* Writes "aten::add.Tensor" or, in place, "aten::add_.Tensor". */
static void name_of(const rush_op *op, bool inplace, char *name, size_t room) {
  size_t n = strcspn(op->schema, "("), base = strcspn(op->schema, ".(");
  if (n + 2 > room) n = base = room - 2;
  memcpy(name, op->schema, base);
  if (inplace) name[base] = '_';
  memcpy(name + base + inplace, op->schema + base, n - base);
  name[n + inplace] = '\0';
}

static void call_variadic(program *p, const char *name) {
  uint32_t in[4], out[4], n = byte(p) % 5u, n_out = byte(p) < 200 ? 1 : byte(p) % 4u;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t v = byte(p) < 200 ? pick_known(p, RUSH_KINDS_ANY, byte(p) % 8) : RUSH_NONE;
    in[k] = v != RUSH_NONE ? v : K(pick_constant(p, RUSH_KINDS_ANY, RUSH_KINDS_ANY, 2));
  }
  for (uint32_t k = 0; k < n_out; k++) out[k] = build_reg(&p->b, p->any);
  build_op(&p->b, name, n, in, n_out, out);
  for (uint32_t k = 0; k < n_out; k++) know(p, out[k], RUSH_KINDS_ANY);
}

static void call_op(program *p) {
  bool inplace = false;
  char name[256];
  uint32_t in[RUSH_SCHEMA_MAX_ARGS], out[RUSH_SCHEMA_MAX_RESULTS];
  rush_schema s;
  const rush_op *op = pick_op(p, &inplace);
  name_of(op, inplace, name, sizeof name);
  if (op->flags & RUSH_OP_VARIADIC) {
    call_variadic(p, name);
    return;
  }
  if (rush_schema_parse(p->ctx, op->schema, &s) != RUSH_OK) return;
  for (uint32_t k = 0; k < s.n_args; k++) {
    rush_schema_arg a = s.args[k];
    a.written |= inplace && k == 0;
    in[k] = pick_argument(p, &a);
  }
  for (uint32_t k = 0; k < s.n_results; k++) out[k] = build_reg(&p->b, p->any);
  build_op(&p->b, name, s.n_args, in, s.n_results, out);
  for (uint32_t k = 0; k < s.n_results; k++) know(p, out[k], s.result_kinds[k]);
  rush_schema_free(p->ctx, &s);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static uint32_t pick_bool(program *p) {
  uint32_t v = byte(p) % 4 ? pick_known(p, RUSH_KIND_BIT(RUSH_KIND_BOOL), 0) : RUSH_NONE;
  return v != RUSH_NONE ? v : K(build_bool(&p->b, byte(p) % 2));
}

static uint32_t pick_any(program *p) {
  uint32_t v = pick_known(p, RUSH_KINDS_ANY, byte(p) % 4);
  return v != RUSH_NONE ? v : K(build_int(&p->b, 1));
}

static void open_block(program *p, bool loop) {
  if (p->n_blocks == BLOCKS) return;
  block *at = p->blocks + p->n_blocks++;
  *at = (block){.loop = loop, .result = build_reg(&p->b, p->any), .n_outside = p->n_values};
  if (!loop) {
    build_if(&p->b, pick_bool(p), 1, &at->result);
    return;
  }
  static const int64_t rounds[] = {2, 0, 3, 17, INT64_MAX, -1, 5, 1};
  uint32_t carried = pick_any(p), inside[] = {build_reg(&p->b, p->any), build_reg(&p->b, p->any)};
  uint32_t most = K(build_int(&p->b, rounds[byte(p) % 8]));
  build_loop(&p->b, most, K(build_bool(&p->b, byte(p) % 8 != 7)), 1, &carried, &at->result, inside);
  know(p, inside[0], RUSH_KIND_BIT(RUSH_KIND_INT));
  know(p, inside[1], RUSH_KINDS_ANY);
}

static void close_block(program *p) {
  if (p->n_blocks == 0) return;
  block *at = p->blocks + p->n_blocks - 1;
  uint32_t value = pick_any(p);
  if (!at->loop && !at->second) {
    build_else(&p->b, 1, &value);
    at->second = true;
    p->n_values = at->n_outside;
    return;
  }
  if (at->loop)
    build_end_loop(&p->b, pick_bool(p), 1, &value);
  else
    build_end_if(&p->b, 1, &value);
  p->n_values = at->n_outside;
  know(p, at->result, RUSH_KINDS_ANY);
  p->n_blocks--;
}

static void finish(program *p) {
  uint32_t in[8], n = 0;
  while (p->n_blocks > 0) close_block(p);
  for (int k = p->n_values; k-- > 0 && n < 8;) in[n++] = p->values[k].operand;
  build_return(&p->b, build_call(&p->b, "prim::TupleConstruct", p->any, n, in));
}

uint8_t *program_of(const uint8_t *data, size_t size, size_t *file_size) {
  program p = {.bytes = {data, data + size}};
  if (rush_ctx_create(NULL, NULL, &p.ctx) != RUSH_OK) abort();
  p.hostile = byte(&p) % 4 != 0;
  p.shares = byte(&p) >= 128;
  p.dtype = byte(&p);
  p.large = byte(&p) >= 192 && sizeof(void *) == 4;
  p.any = build_type(&p.b, RUSH_TYPE_ANY);
  /* Attributes that the program writes: a tensor and a list. */
  p.bytes.at = data + (size < PROGRAM_HEAD ? size : PROGRAM_HEAD);
  build_attribute(&p.b, "state", p.any, pick_constant(&p, RUSH_KIND_BIT(RUSH_KIND_INT), 0, 0));
  build_attribute(
      &p.b, "list", p.any,
      pick_constant(&p, RUSH_KIND_BIT(RUSH_KIND_LIST), RUSH_KIND_BIT(RUSH_KIND_INT), 1));
  build_method(&p.b, "main", p.any, 0, NULL);
  if (p.shares) p.buffer = make_buffer(&p);
  for (size_t at = PROGRAM_HEAD; at < size && at < PROGRAM_HEAD + PROGRAM_MOST * PROGRAM_RECORD;
       at += PROGRAM_RECORD) {
    size_t n = size - at < PROGRAM_RECORD ? size - at : PROGRAM_RECORD;
    p.bytes = (fuzz_bytes){data + at, data + at + n};
    uint8_t what = byte(&p);
    if (what >= 248)
      close_block(&p);
    else if (what >= 240)
      open_block(&p, what >= 244);
    else
      call_op(&p);
  }
  finish(&p);
  uint8_t *file = build_file(&p.b, file_size);
  build_free(&p.b);
  rush_ctx_destroy(p.ctx);
  return file;
}

/* ---- Mutation -------------------------------------------------------------------------------- */

static size_t mutate_program(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  uint64_t random = seed;
  size_t n = size > PROGRAM_HEAD ? (size - PROGRAM_HEAD) / PROGRAM_RECORD : 0;
  uint8_t *records = data + PROGRAM_HEAD;
  size_t at = n ? fuzz_next(&random) % n : 0, to = n ? fuzz_next(&random) % n : 0;
  uint64_t what = fuzz_next(&random) % 16;
  bool room = n < PROGRAM_MOST && PROGRAM_HEAD + (n + 1) * PROGRAM_RECORD <= max_size;
  if (n > 0 && what < 6) { /* mutates one instruction */
    LLVMFuzzerMutate(records + at * PROGRAM_RECORD, PROGRAM_RECORD, PROGRAM_RECORD);
  } else if (n > 0 && what < 9) { /* mutates its arguments */
    LLVMFuzzerMutate(records + at * PROGRAM_RECORD + 4, PROGRAM_RECORD - 4, PROGRAM_RECORD - 4);
  } else if (n > 1 && what < 10) {
    memmove(records + at * PROGRAM_RECORD, records + to * PROGRAM_RECORD, PROGRAM_RECORD);
  } else if (n > 1 && what < 12) {
    memmove(records + at * PROGRAM_RECORD, records + (at + 1) * PROGRAM_RECORD,
            (n - at - 1) * PROGRAM_RECORD);
    n--;
  } else if (room && what < 15) { /* adds an instruction with any operator */
    if (size < PROGRAM_HEAD) memset(data, 1, PROGRAM_HEAD);
    memmove(records + (at + 1) * PROGRAM_RECORD, records + at * PROGRAM_RECORD,
            (n - at) * PROGRAM_RECORD);
    for (int k = 0; k < PROGRAM_RECORD; k++)
      records[at * PROGRAM_RECORD + (size_t)k] = (uint8_t)fuzz_next(&random);
    n++;
  } else {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  return PROGRAM_HEAD + n * PROGRAM_RECORD;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

/* If sizes are as in wasm, a quarter of the programs and all files may have large ones. */
enum { MAY_BE_LARGE = sizeof(void *) == 4 };

static bool is_file(const uint8_t *data, size_t size) {
  return size >= sizeof(rush_file_header) && memcmp(data, RUSH_MAGIC, sizeof RUSH_MAGIC - 1) == 0;
}

input input_of(const uint8_t *data, size_t size) {
  if (is_file(data, size)) return (input){data, size, NULL, MAY_BE_LARGE};
  input in = {.large = MAY_BE_LARGE && size >= PROGRAM_HEAD && data[3] >= 192};
  in.file = in.made = program_of(data, size, &in.size);
  return in;
}

size_t mutate_input(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  enum { MOST = PROGRAM_HEAD + PROGRAM_MOST * PROGRAM_RECORD };
  if (is_file(data, size)) return mutate_file(data, size, max_size, seed);
  return mutate_program(data, size < MOST ? size : MOST, max_size < MOST ? max_size : MOST, seed);
}
