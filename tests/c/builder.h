/* Writes .rush files in memory from format.h's records. A test can build any model, also an invalid
 * one: records are appended and referred to by index, and nothing is checked here.
 *
 *   builder b = {0};
 *   uint32_t x = build_method(&b, "forward", type_of(&b, RUSH_TYPE_TENSOR), 1,
 * (uint32_t[]){tensor}); uint32_t y = build_reg(&b, tensor); build_op(&b, "aten::t", 1,
 * (uint32_t[]){x}, 1, (uint32_t[]){y}); build_return(&b, y); size_t size; uint8_t *file =
 * build_file(&b, &size);
 *   ... free(file); build_free(&b); */
#ifndef RUSH_TESTS_BUILDER_H
#define RUSH_TESTS_BUILDER_H

#include <rushlight/rushlight.h>

/* Lists of indices and of sizes. */
#define U32(...)       \
  (const uint32_t[]) { \
    __VA_ARGS__        \
  }
#define SIZES(...)    \
  (const int64_t[]) { \
    __VA_ARGS__       \
  }

enum { BUILD_SECTIONS = 26, BUILD_OPEN = 80 };

typedef struct build_section {
  uint32_t id, count;
  size_t width, bytes, room;
  char *data;
} build_section;

typedef struct builder {
  build_section sections[BUILD_SECTIONS];
  int n_sections;
  char *weights;
  size_t weights_bytes;
  uint32_t open[BUILD_OPEN]; /* instructions whose target is not known yet */
  int n_open;
} builder;

/* Every function below returns the index of the record that it appends. */
uint32_t build_add(builder *b, uint32_t section, size_t width, const void *records, uint32_t n);
/* Returns record `i` of a section, so that a test can damage it. */
void *build_at(builder *b, uint32_t section, uint32_t i);

uint32_t build_str(builder *b, const char *text);
/* These append a type without children, and one with n children. */
uint32_t build_type(builder *b, uint32_t kind);
uint32_t build_type_n(builder *b, uint32_t kind, uint32_t n, const uint32_t *children);

/* ---- Constants. An operand that is a constant needs K(). ---- */
#define K(constant) ((constant) | RUSH_OPERAND_CONSTANT)
uint32_t build_const(builder *b, uint32_t kind, uint32_t a, uint64_t p0, uint64_t p1);
uint32_t build_none(builder *b);
uint32_t build_int(builder *b, int64_t i);
uint32_t build_float(builder *b, double f);
uint32_t build_bool(builder *b, bool v);
/* Appends a storage with these bytes. NULL makes them zero. */
uint32_t build_storage(builder *b, const void *data, size_t bytes);
/* NULL as strides means row-major. RUSH_NONE as storage makes a shape for RUSH_CONST_RANDOM. */
uint32_t build_view(builder *b, uint32_t storage, rush_dtype dtype, int rank, const int64_t *sizes,
                    const int64_t *strides, uint64_t offset);
/* Appends a constant, row-major tensor with its own storage. */
uint32_t build_tensor(builder *b, rush_dtype dtype, int rank, const int64_t *sizes,
                      const void *data);
/* Appends a LIST, TUPLE or DICT of constants. */
uint32_t build_items(builder *b, uint32_t kind, uint32_t type, uint32_t n, const uint32_t *items);

/* ---- Methods. Registers count from 0 within the method; its inputs come first. ---- */
uint32_t build_method(builder *b, const char *name, uint32_t result_type, uint32_t n_inputs,
                      const uint32_t *types);
uint32_t build_reg(builder *b, uint32_t type);
uint32_t build_instr(builder *b, uint32_t opcode, uint32_t op, uint32_t n_in, const uint32_t *in,
                     uint32_t n_out, const uint32_t *out);
uint32_t build_op(builder *b, const char *name, uint32_t n_in, const uint32_t *in, uint32_t n_out,
                  const uint32_t *out);
/* Appends a call with one result in a new register of the type, and returns that register. */
uint32_t build_call(builder *b, const char *name, uint32_t type, uint32_t n_in, const uint32_t *in);
/* Calls build_call on the builder `b`, with the inputs as arguments. */
#define CALL(name, type, ...) \
  build_call(b, name, type, sizeof U32(__VA_ARGS__) / 4, U32(__VA_ARGS__))
/* These fill in the targets. There is one value for each result. */
uint32_t build_if(builder *b, uint32_t cond, uint32_t n, const uint32_t *results);
uint32_t build_else(builder *b, uint32_t n, const uint32_t *values);
uint32_t build_end_if(builder *b, uint32_t n, const uint32_t *values);
/* `inside` receives the iteration's index, then the carried values in the body. */
uint32_t build_loop(builder *b, uint32_t most, uint32_t enter, uint32_t n, const uint32_t *carried,
                    const uint32_t *results, const uint32_t *inside);
uint32_t build_end_loop(builder *b, uint32_t go_on, uint32_t n, const uint32_t *carried);
uint32_t build_return(builder *b, uint32_t value);

uint32_t build_attribute(builder *b, const char *name, uint32_t type, uint32_t initial);
uint32_t build_test(builder *b, uint32_t method, uint32_t inputs, uint32_t output, float rtol,
                    float atol);
/* Appends an asset, whose digest is zero. It must follow all storages and the assets with lesser
 * names. */
uint32_t build_asset(builder *b, const char *name, const void *data, size_t bytes);

/* Returns the whole file, which the caller frees. The builder can append more afterwards. */
uint8_t *build_file(builder *b, size_t *size);
void build_free(builder *b);

#endif
