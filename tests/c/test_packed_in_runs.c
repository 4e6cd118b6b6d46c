/* Weights of few bits are packed during loading if they are constants, and in each run otherwise.
 * The answers must be the same. */
#include "harness.h"

/* Describes a call of each such operator in words: the sizes of the input, which a convolution
 * converts to bytes; dtypes and sizes of tensors; sizes of initial states (hh: a list of two); and
 * numbers. */
static const struct {
  const char *op, *words;
} rows[] = {
    {"rush::linear_int8", "x:5,19 i8:11,19 f32:11 f32:11 -1. .2"},
    {"rush::linear_int8", "x:5,19 i8:11,19 f32:11 none -1. .2"},
    {"rush::linear_dynamic", "x:5,19 i8:11,19 f64:11 i32:11 f32:11 127"},
    {"rush::linear_dynamic", "x:5,19 i8:11,19 f64:11 i32:11 none 255"},
    {"rush::linear_weights", "x:5,19 i8:11,19 f32:11,1 none f32:11 8 19 19 -1. .2 16"},
    {"rush::linear_weights", "x:5,19 u8:11,10 f32:11,3 u8:11,3 none 4 19 8 -1. .2 8"},
    {"rush::linear_weights", "x:5,19 u8:11,10 f32:11,3 f32:11,3 f32:11 4 19 8 -1. .2 8"},
    {"rush::lstm_dynamic",
     "x:4,3,6 none hh:4,3,5 i8:1040 f32:160 i32:160 f32:160 127 2 true false"},
    {"rush::gru_dynamic", "x:4,3,6 none h:1,4,5 i8:165 f32:30 i32:30 f32:30 255 1 false true"},
    {"rush::quantized_conv",
     "x:2,6,7,5 i8:4,3,3,2 f64:4 i32:4 f32:4 false [2,1] [1,0] [1,1] [0,0] 2 false .1 9 false 0"},
};

enum { TENSOR, INT, INTS, TENSORS, WORDS = 20, RANK = 5, MOST = 4096 };

/* Reads the integers after a word's first character. */
static int read_ints(const char *word, int64_t out[RANK]) {
  int n = 0;
  char *end = NULL;
  for (const char *at = word; end == NULL || *end == ','; at = end)
    out[n++] = strtoll(at + 1, &end, 10);
  return n;
}

static int read_sizes(const char *word, int64_t out[RANK], size_t *numel) {
  const int rank = read_ints(strchr(word, ':'), out);
  *numel = 1;
  for (int d = 0; d < rank; d++) *numel *= (size_t)out[d];
  return rank;
}

static float number(size_t i) {
  return (float)(i * 37 % 101 + 1) * 0.004f;
}

/* Fills memory with numbers, and repeats each one `times` times. */
static rush_dtype fill(const char *word, size_t numel, size_t times, void *to) {
  const rush_dtype dtype = word[0] == 'f'   ? (word[1] == '6' ? RUSH_FLOAT64 : RUSH_FLOAT32)
                           : word[1] == '3' ? RUSH_INT32
                           : word[0] == 'i' ? RUSH_INT8
                                            : RUSH_UINT8;
  for (size_t i = 0; i < numel * times; i++) {
    const int k = (int)(i / times * 37 % 101);
    if (dtype == RUSH_FLOAT64) ((double *)to)[i] = (double)number(i / times);
    if (dtype == RUSH_FLOAT32) ((float *)to)[i] = number(i / times);
    if (dtype == RUSH_INT32) ((int32_t *)to)[i] = k % 7 - 3;
    if (dtype == RUSH_INT8) ((int8_t *)to)[i] = (int8_t)(k - 50);
    if (dtype == RUSH_UINT8) ((uint8_t *)to)[i] = (uint8_t)(k % 16);
  }
  return dtype;
}

/* Makes the tensor that the word names. Other tensors than constants have every other element of
 * one. */
static uint32_t tensor(builder *b, const char *word, bool constant) {
  static double room[2 * MOST];
  int64_t sizes[RANK + 1];
  size_t numel;
  const int rank = read_sizes(word, sizes, &numel);
  assert_true(numel <= MOST);
  const rush_dtype dtype = fill(word, numel, constant ? 1 : 2, room);
  if (constant) return K(build_tensor(b, dtype, rank, sizes, room));
  sizes[rank] = 2;
  const uint32_t all = build_tensor(b, dtype, rank + 1, sizes, room);
  const uint32_t dim = build_int(b, rank), index = build_int(b, 1);
  return CALL("aten::select.int", TENSOR, K(all), K(dim), K(index));
}

static uint32_t states(builder *b, const char *word) {
  static const float zeros[MOST];
  int64_t sizes[RANK];
  size_t numel;
  const int rank = read_sizes(word, sizes, &numel);
  const uint32_t one = build_tensor(b, RUSH_FLOAT32, rank, sizes, zeros);
  return K(word[1] == 'h' ? build_items(b, RUSH_CONST_LIST, TENSORS, 2, U32(one, one)) : one);
}

static uint32_t ints(builder *b, const char *word) {
  int64_t numbers[RANK];
  uint32_t items[RANK];
  const uint32_t n = (uint32_t)read_ints(word, numbers);
  for (uint32_t i = 0; i < n; i++) items[i] = build_int(b, numbers[i]);
  return K(build_items(b, RUSH_CONST_LIST, INTS, n, items));
}

static uint32_t input(builder *b, bool bytes) {
  const uint32_t scale = build_float(b, 0.01), zero = build_int(b, 40);
  return bytes ? CALL("rush::quantized_of", TENSOR, 0, K(scale), K(zero)) : 0;
}

static uint32_t operand(builder *b, const char *word, bool constant, bool bytes) {
  if (word[0] == 'x') return input(b, bytes);
  if (word[0] == 'h') return states(b, word);
  if (word[0] == '[') return ints(b, word);
  if (word[0] == 't' || word[1] == 'a') return K(build_bool(b, word[0] == 't'));
  if (word[0] == 'n') return K(build_none(b));
  if (strchr(word, ':')) return tensor(b, word, constant);
  return K(strchr(word, '.') ? build_float(b, strtod(word, NULL))
                             : build_int(b, strtoll(word, NULL, 10)));
}

/* Returns the row's first result as text. */
static void answer(rig *r, size_t row, bool constant, char out[sizeof r->text]) {
  static float x[MOST];
  const char *op = rows[row].op;
  const bool bytes = strstr(op, "conv") != NULL;
  const uint32_t results = strstr(op, "lstm") ? 3 : strstr(op, "gru") ? 2 : 1;
  builder b_ = {0}, *b = &b_;
  char text[256], *word = text;
  uint32_t in[WORDS], n = 0, made[3];
  int64_t sizes[RANK];
  size_t numel;
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(INT));
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(TENSOR));
  build_method(b, "forward", TENSOR, 1, U32(TENSOR));
  for (snprintf(text, sizeof text, "%s", rows[row].words); word != NULL;) {
    char *end = strchr(word, ' ');
    if (end != NULL) *end++ = '\0';
    in[n++] = operand(b, word, constant, bytes);
    word = end;
  }
  for (uint32_t k = 0; k < results; k++) made[k] = build_reg(b, TENSOR);
  build_op(b, op, n, in, results, made);
  const uint32_t zero = build_int(b, 0);
  build_return(b, bytes ? CALL("rush::floats_of", TENSOR, made[0], K(zero)) : made[0]);
  rig_open(r);
  rig_start(r, b);
  const int rank = read_sizes(rows[row].words, sizes, &numel);
  for (size_t i = 0; i < numel; i++) x[i] = number(i);
  rush_value v = rig_tensor(r, RUSH_FLOAT32, rank, sizes, x);
  memcpy(out, run(r, 0, 1, &v), sizeof r->text);
  rush_value_release(r->session, &v);
  rig_close(r);
}

static void weights_of_a_run_are_packed_as_constants_are(void **state) {
  (void)state;
  for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
    rig r;
    char want[sizeof r.text], got[sizeof r.text];
    answer(&r, row, true, want);
    answer(&r, row, false, got);
    assert_contains(rows[row].op, want, "float32[");
    assert_string_equal(got, want);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(weights_of_a_run_are_packed_as_constants_are),
  };
  return cmocka_run_group_tests_name("packed in runs", tests, NULL, NULL);
}
