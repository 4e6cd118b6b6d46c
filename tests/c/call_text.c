#include "call_text.h"

#include "base/half.h"
#include "tensor/dtype.h"

enum { ANY, MOST_ARGS = 16, MOST_VALUES = 32 };

typedef struct reader {
  rig *r;
  const char *at;
} reader;

static rush_value read_value(reader *in);

/* ---- Tensors --------------------------------------------------------------------------------- */

static const struct {
  char letter;
  rush_dtype dtype;
} letters[] = {{'f', RUSH_FLOAT32},    {'d', RUSH_FLOAT64}, {'h', RUSH_FLOAT16},
               {'i', RUSH_INT64},      {'j', RUSH_INT32},   {'u', RUSH_UINT8},
               {'s', RUSH_INT8},       {'b', RUSH_BOOL},    {'c', RUSH_COMPLEX64},
               {'z', RUSH_COMPLEX128}, {'q', RUSH_FLOAT32}, {'Q', RUSH_FLOAT32},
               {'p', RUSH_FLOAT32}};

static rush_dtype dtype_of(char letter) {
  for (size_t k = 0; k < sizeof letters / sizeof *letters; k++) {
    if (letters[k].letter == letter) return letters[k].dtype;
  }
  fail_msg("there is no dtype '%c'", letter);
  return RUSH_FLOAT32;
}

static void store(rush_dtype dtype, void *data, size_t i, double v) {
  switch (dtype) {
    case RUSH_FLOAT32:
      ((float *)data)[i] = (float)v;
      break;
    case RUSH_FLOAT16:
      ((uint16_t *)data)[i] = rush_to_float16((float)v);
      break;
    case RUSH_FLOAT64:
      ((double *)data)[i] = v;
      break;
    case RUSH_INT64:
      ((int64_t *)data)[i] = (int64_t)v;
      break;
    case RUSH_INT32:
      ((int32_t *)data)[i] = (int32_t)v;
      break;
    case RUSH_UINT8:
      ((uint8_t *)data)[i] = (uint8_t)(int64_t)v;
      break;
    case RUSH_INT8:
      ((int8_t *)data)[i] = (int8_t)(int64_t)v;
      break;
    case RUSH_BOOL:
      ((uint8_t *)data)[i] = v != 0;
      break;
    case RUSH_COMPLEX64:
      ((float *)data)[2 * i] = (float)v;
      break;
    case RUSH_COMPLEX128:
      ((double *)data)[2 * i] = v;
      break;
    default:
      break; /* zeros */
  }
}

/* Reads the numbers after =, as in =1,2,3. Returns their count. */
static size_t read_elements(reader *in, double values[MOST_VALUES]) {
  size_t n = 0;
  char *end;
  for (char before = '='; *in->at == before && n < MOST_VALUES; before = ',') {
    values[n++] = strtod(in->at + 1, &end);
    in->at = end;
  }
  return n;
}

static rush_value read_tensor(reader *in) {
  const rush_dtype dtype = dtype_of(*in->at);
  int64_t sizes[RUSH_MAX_RANK];
  int rank = 0;
  char *end;
  for (in->at += 2; *in->at != '}'; in->at += *in->at == ',') {
    sizes[rank++] = strtoll(in->at, &end, 10);
    in->at = end;
  }
  in->at++;
  double values[MOST_VALUES];
  const size_t n = read_elements(in, values);
  rush_value v;
  rush_tensor_info info;
  void *data;
  rig *r = in->r;
  OK(rush_tensor_create(r->session, dtype, rank, sizes, &v, &data));
  OK(rush_tensor_inspect(r->session, &v, &info));
  if (info.numel > 0) memset(data, 0, (size_t)info.numel * rush_dtype_size(dtype));
  for (int64_t i = 0; i < info.numel; i++)
    store(dtype, data, (size_t)i, n > 0 ? values[(size_t)i % n] : (double)i);
  return v;
}

/* ---- Other values ---------------------------------------------------------------------------- */

static rush_value read_items(reader *in, char close) {
  rush_value items[32], v;
  size_t n = 0;
  rig *r = in->r;
  for (in->at++; *in->at != close; in->at += *in->at == ' ') items[n++] = read_value(in);
  in->at++;
  if (close == ']')
    OK(rush_list_create(r->session, items, n, &v));
  else
    OK(rush_tuple_create(r->session, items, n, &v));
  for (size_t k = 0; k < n; k++) rush_value_release(r->session, items + k);
  return v;
}

static rush_value read_text(reader *in) {
  const char *from = in->at + 1, *to = strchr(from, '\'');
  rush_value v;
  rig *r = in->r;
  OK(rush_str_create(r->session, from, (size_t)(to - from), &v));
  in->at = to + 1;
  return v;
}

static rush_value read_number(reader *in) {
  char *whole, *part;
  const long long i = strtoll(in->at, &whole, 10);
  const double f = strtod(in->at, &part);
  const bool is_int = whole == part;
  in->at = part;
  return is_int ? rush_int(i) : rush_float(f);
}

static rush_value read_value(reader *in) {
  const char c = *in->at;
  if (c == '[') return read_items(in, ']');
  if (c == '(') return read_items(in, ')');
  if (c == '\'') return read_text(in);
  if (in->at[1] == '{') return read_tensor(in);
  if (c != 'N' && c != 'T' && c != 'F') return read_number(in);
  in->at++;
  return c == 'N' ? rush_none() : rush_bool(c == 'T');
}

/* ---- Programs -------------------------------------------------------------------------------- */

/* Counts the arguments. `quantized` receives the letter of each quantized one, and 0 for others. */
static uint32_t count(const char *args, char quantized[MOST_ARGS]) {
  uint32_t n = 0;
  int depth = 0;
  for (const char *at = args; *at; at++) {
    const bool begins = depth == 0 && (at == args || at[-1] == ' ');
    if (begins) quantized[n++] = at[1] == '{' && strchr("qQp", *at) ? *at : '\0';
    if (*at == '\'') at = strchr(at + 1, '\'');
    depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
  }
  return n;
}

static uint32_t quantize(builder *b, char how, uint32_t x) {
  if (how != 'p') {
    const uint32_t args[] = {x, K(build_float(b, 0.5)), K(build_int(b, 3)),
                             K(build_int(b, how == 'q' ? RUSH_QUINT8 : RUSH_QINT8))};
    return build_call(b, "aten::quantize_per_tensor", ANY, 4, args);
  }
  const uint32_t args[] = {x, K(build_tensor(b, RUSH_FLOAT64, 1, SIZES(2), (double[]){1, 2})),
                           K(build_tensor(b, RUSH_INT64, 1, SIZES(2), (int64_t[]){0, 1})),
                           K(build_int(b, 0)), K(build_int(b, RUSH_QUINT8))};
  return build_call(b, "aten::quantize_per_channel", ANY, 5, args);
}

/* forward(*args): return op(*args), for an operator with this number of results. */
static rush_status try_program(rig *r, const char *op, const char *args, uint32_t n_out) {
  builder b_ = {0}, *b = &b_;
  uint32_t types[MOST_ARGS] = {0}, in[MOST_ARGS], out[8];
  char quantized[MOST_ARGS];
  const uint32_t n = count(args, quantized);
  build_type(b, RUSH_TYPE_ANY);
  build_method(b, "forward", ANY, n, types);
  for (uint32_t k = 0; k < n; k++) in[k] = quantized[k] ? quantize(b, quantized[k], k) : k;
  for (uint32_t k = 0; k < n_out; k++) out[k] = build_reg(b, ANY);
  build_op(b, op, n, in, n_out, out);
  build_return(b, n_out > 0 ? out[0] : K(build_none(b)));
  return rig_try_load(r, b);
}

const char *call_text(rig *r, const char *op, const char *args) {
  rush_value values[MOST_ARGS];
  char quantized[MOST_ARGS];
  reader in = {r, args};
  const uint32_t n = count(args, quantized);
  rush_status st = RUSH_ERR_BAD_FILE;
  for (uint32_t n_out = 0; st != RUSH_OK && n_out <= 6; n_out++)
    st = try_program(r, op, args, n_out);
  if (st != RUSH_OK) return rush_ctx_error(r->ctx);
  OK(rush_session_create(r->ctx, r->model, &r->session));
  for (uint32_t k = 0; k < n; k++, in.at += *in.at == ' ') values[k] = read_value(&in);
  const char *said = run(r, 0, n, values);
  for (uint32_t k = 0; k < n; k++) rush_value_release(r->session, values + k);
  return said;
}

int call_rows(const call_row *rows, size_t n, bool (*fits)(const char *said, const char *wanted)) {
  int wrong = 0;
  for (size_t k = 0; k < n; k++) {
    rig rig_, *r = &rig_;
    rig_open(r);
    const char *said = call_text(r, rows[k].op, rows[k].args);
    if (!fits(said, rows[k].wanted)) {
      print_error("%s %s: expected '%s', got '%s'\n", rows[k].op, rows[k].args, rows[k].wanted,
                  said);
      wrong++;
    }
    rig_close(r);
  }
  return wrong;
}
