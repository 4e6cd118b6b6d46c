/* Compares Winograd's convolution with the direct one: its error against float64, sizes around the
 * tiles, and numbers that are not finite or differ greatly in size. The bits are the same on any
 * number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "floats.h"
#include "timed.h"

#include "base/base.h"
#include "kernels/conv.h"

/* Inputs as in the middle of a network, and inputs that are adverse to the transforms. */
typedef enum inputs { NOISE, POSITIVE, RECTIFIED, FAR_FROM_ZERO, UNEQUAL, KINDS } inputs;

static float input(inputs kind) {
  const float v = noise();
  switch (kind) {
    case POSITIVE:
      return fabsf(v);
    case RECTIFIED:
      return v > 0 ? v : 0;
    case FAR_FROM_ZERO:
      return 3 + fabsf(v);
    case UNEQUAL:
      return v * v * v * v * v;
    default:
      return v;
  }
}

typedef struct layer {
  rush_conv s;
  float *x, *w, *bias, *packed, *y, *direct;
  double *exact;
  size_t out; /* elements of y */
} layer;

/* Makes a layer with 3x3 kernels. `behind` is the padding at the ends. */
static layer new_layer(size_t batch, size_t in_c, size_t out_c, size_t height, size_t width,
                       size_t padding, size_t behind, inputs kind) {
  layer l = {.s = {.batch = batch,
                   .groups = 1,
                   .in_c = in_c,
                   .out_c = out_c,
                   .in = {1, height, width},
                   .out = {1, height + padding + behind - 2, width + padding + behind - 2},
                   .kernel = {1, 3, 3},
                   .stride = {1, 1, 1},
                   .dilation = {1, 1, 1},
                   .padding = {0, (ptrdiff_t)padding, (ptrdiff_t)padding}}};
  const size_t in = batch * height * width * in_c, weights = 9 * in_c * out_c;
  size_t floats;
  assert_true(rush_conv_packed(&l.s, &floats));
  l.out = batch * l.s.out[1] * l.s.out[2] * out_c;
  l.x = malloc(in * sizeof *l.x + 16);
  l.w = malloc(weights * sizeof *l.w);
  l.bias = malloc(out_c * sizeof *l.bias);
  l.packed = aligned_alloc(64, (floats * sizeof *l.packed + 63) / 64 * 64);
  l.y = malloc((l.out + GUARD) * sizeof *l.y);
  l.direct = malloc(l.out * sizeof *l.direct);
  l.exact = malloc(l.out * sizeof *l.exact);
  for (size_t i = 0; i < in; i++) l.x[i] = input(kind);
  memset(l.x + in, 0xff, 16);
  for (size_t i = 0; i < weights; i++) l.w[i] = noise() / sqrtf((float)in_c);
  for (size_t i = 0; i < out_c; i++) l.bias[i] = noise();
  return l;
}

static void free_layer(layer *l) {
  free(l->x), free(l->w), free(l->bias), free(l->packed), free(l->y), free(l->direct),
      free(l->exact);
}

static float clamped(float v, float min, float max) {
  return v < min ? min : v > max ? max : v;
}

/* Sums over [o][i][h][w] in the order of the kernels, in float32 and float64. */
static void reference(layer *l, float min, float max) {
  const rush_conv *s = &l->s;
  size_t at = 0;
  for (size_t p = 0; p < s->batch * s->out[1] * s->out[2]; p++) {
    const size_t image = p / s->out[2] / s->out[1], h = p / s->out[2] % s->out[1],
                 w = p % s->out[2];
    for (size_t o = 0; o < s->out_c; o++, at++) {
      float sum = l->bias[o];
      double exact = (double)l->bias[o];
      for (size_t t = 0; t < 9; t++) {
        const ptrdiff_t ih = (ptrdiff_t)(h + t / 3) - s->padding[1],
                        iw = (ptrdiff_t)(w + t % 3) - s->padding[2];
        if (ih < 0 || iw < 0 || ih >= (ptrdiff_t)s->in[1] || iw >= (ptrdiff_t)s->in[2]) continue;
        const float *x = l->x + ((image * s->in[1] + (size_t)ih) * s->in[2] + (size_t)iw) * s->in_c;
        const float *k = l->w + o * s->in_c * 9 + t;
        for (size_t i = 0; i < s->in_c; i++) {
          sum += x[i] * k[9 * i];
          exact += (double)x[i] * (double)k[9 * i];
        }
      }
      l->direct[at] = clamped(sum, min, max);
      l->exact[at] = exact<(double)min ? (double)min : exact>(double) max ? (double)max : exact;
    }
  }
}

static void run(layer *l, rush_ctx *ctx, float min, float max) {
  l->s.ctx = ctx;
  const ptrdiff_t strides[5] = {(ptrdiff_t)(9 * l->s.in_c), 9, 9, 3, 1};
  size_t bytes;
  assert_true(rush_conv_scratch(&l->s, &bytes));
  char *scratch = malloc(bytes + GUARD);
  memset(scratch, 0x55, bytes + GUARD);
  for (size_t i = 0; i < l->out + GUARD; i++) l->y[i] = guard;
  rush_conv_pack(&l->s, l->w, strides, l->bias, l->packed);
  char row[64];
  snprintf(row, sizeof row, "%zu x %zu x %zu, %zu to %zu channels", l->s.batch, l->s.out[1],
           l->s.out[2], l->s.in_c, l->s.out_c);
  const double work = 18.0 * (double)(l->out * l->s.in_c);
  TIMED("winograd", row, "kernel", work, 0,
        rush_conv_run(&l->s, l->x, l->packed, l->y, min, max, scratch));
  if (timed.wanted) TIMED("winograd", row, PLAIN, work, 0, reference(l, min, max));
  for (size_t i = 0; i < GUARD; i++) assert_int_equal(scratch[bytes + i], 0x55);
  for (size_t i = 0; i < GUARD; i++) assert_true(l->y[l->out + i] == guard);
  free(scratch);
}

/* Input channels, output channels, and pixels per side: 6 for tiles of 2x2, and 8 for 4x4. */
static const size_t layers[][3] = {{16, 64, 8},  {32, 32, 6},  {32, 32, 8},
                                   {64, 32, 6},  {64, 32, 8},  {256, 64, 6},
                                   {256, 64, 8}, {512, 32, 6}, {512, 32, 8}};

static void the_error_is_at_most_four_times_the_direct_forms(void **unused) {
  (void)unused;
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
    const size_t *h = layers[i];
    for (inputs kind = 0; kind < KINDS; kind++) {
      layer l = new_layer(6, h[0], h[1], h[2], h[2], 1, 1, kind);
      assert_true(rush_winograd(&l.s, NULL) > 0);
      reference(&l, -INFINITY, INFINITY);
      run(&l, NULL, -INFINITY, INFINITY);
      double own = 0, direct = 0, most = 0, most_direct = 0;
      for (size_t e = 0; e < l.out; e++) {
        const double a = fabs((double)l.y[e] - l.exact[e]);
        const double b = fabs((double)l.direct[e] - l.exact[e]);
        own += a * a, direct += b * b;
        most = fmax(most, a), most_direct = fmax(most_direct, b);
      }
      if (!(sqrt(own) <= 4 * sqrt(direct)) || !(most <= 4 * most_direct))
        fail_msg(
            "%zu channels, %zu pixels, inputs %d: %.2f times the direct form's error, at most %.2f",
            h[0], h[2], (int)kind, sqrt(own / direct), most / most_direct);
      free_layer(&l);
    }
  }
}

static void check(const layer *l, const char *what) {
  for (size_t i = 0; i < l->out; i++) {
    const double want = l->exact[i];
    if (isnan(want)
            ? !isnan(l->y[i])
            : !((double)l->y[i] == want || fabs((double)l->y[i] - want) <= 1e-5 * (1 + fabs(want))))
      fail_msg("%s: element %zu is %g, not %g", what, i, (double)l->y[i], want);
  }
}

static void sizes_around_the_tiles(void **unused) {
  (void)unused;
  static const size_t paddings[][2] = {{0, 0}, {1, 1}, {0, 1}, {2, 0}, {5, 7}};
  size_t n = 0;
  for (size_t height = 1; height <= 9; height++) {
    for (size_t i = 0; i < sizeof paddings / sizeof *paddings; i++) {
      const size_t width = 1 + (height * 5 + i) % 9, padding = paddings[i][0],
                   behind = paddings[i][1];
      if (height + padding + behind < 3 || width + padding + behind < 3) continue;
      layer l = new_layer(4 + height % 3, 33 + (height + i) % 5, 41 + 5 * (height % 5), height,
                          width, padding, behind, NOISE);
      n += rush_winograd(&l.s, NULL) > 0;
      const float bound = height % 2 ? 0.5f : INFINITY;
      reference(&l, -bound, bound);
      run(&l, NULL, -bound, bound);
      check(&l, "size");
      free_layer(&l);
    }
  }
  assert_true(n >= 12); /* other layers use the direct form */
}

static void other_convolutions_are_the_direct_forms(void **unused) {
  (void)unused;
  layer l = new_layer(1, 64, 64, 20, 20, 1, 1, NOISE);
  assert_true(rush_winograd(&l.s, NULL) > 0);
  static const struct {
    size_t offset, value;
  } changes[] = {
#define AT(field) offsetof(rush_conv, field)
      {AT(stride[1]), 2},  {AT(stride[2]), 2}, {AT(dilation[1]), 2}, {AT(dilation[2]), 2},
      {AT(kernel[1]), 1},  {AT(kernel[2]), 5}, {AT(groups), 2},      {AT(in[0]), 2},
      {AT(kernel[0]), 3},  {AT(out[0]), 2},    {AT(in_c), 15},       {AT(in_c), 1 << 20},
      {AT(padding[0]), 1},
  };
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    rush_conv s = l.s;
    memcpy((char *)&s + changes[i].offset, &changes[i].value, sizeof changes[i].value);
    assert_int_equal(rush_winograd(&s, NULL), 0);
  }
  rush_conv s = l.s;
  s.transposed = true;
  assert_int_equal(rush_winograd(&s, NULL), 0);
  free_layer(&l);
}

/* Scratch memory does not grow with the batch, except for one number for each input pixel. */
static void memory_is_bounded(void **unused) {
  (void)unused;
  layer l = new_layer(1, 16, 16, 3, 3, 1, 1, NOISE);
  rush_conv s = l.s;
  s.in_c = s.out_c = 1024;
  s.in[1] = s.in[2] = s.out[1] = s.out[2] = 512;
  s.padding[1] = s.padding[2] = 1;
  for (s.batch = 1; s.batch <= 64; s.batch *= 8)
    assert_in_range(rush_winograd(&s, NULL), 1,
                    ((size_t)14 << 20) + s.batch * 512 * 512 * sizeof(float));
  free_layer(&l);
}

static void what_is_not_finite_spreads_as_far_as_directly(void **unused) {
  (void)unused;
  layer l = new_layer(2, 33, 95, 13, 14, 1, 1, NOISE);
  assert_true(rush_winograd(&l.s, NULL) > 0);
  for (size_t i = 0; i < 9 * 33; i++) l.w[5 * 9 * 33 + i] = 0; /* 0 * INFINITY is NaN */
  l.x[(3 * 14 + 3) * 33 + 7] = NAN;
  l.x[(9 * 14 + 1) * 33 + 19] = INFINITY;
  l.x[((13 + 12) * 14 + 13) * 33] = -INFINITY;
  reference(&l, -2, 2);
  run(&l, NULL, -2, 2);
  check(&l, "not finite");
  size_t finite = 0;
  for (size_t i = 0; i < l.out; i++) finite += isnan(l.y[i]) ? 0 : 1;
  assert_in_range(finite, l.out - 3 * 9 * 95, l.out - 1);

  layer overflow = new_layer(1, 32, 32, 12, 12, 1, 1, POSITIVE);
  for (size_t i = 0; i < 12 * 12 * 32; i++) overflow.x[i] *= 1e18f;
  for (size_t i = 0; i < 9 * 32 * 32; i++) overflow.w[i] *= 1e19f;
  reference(&overflow, -INFINITY, INFINITY);
  run(&overflow, NULL, -INFINITY, INFINITY);
  size_t finite_too = 0;
  for (size_t i = 0; i < overflow.out; i++) {
    assert_int_equal(isfinite(overflow.y[i]), isfinite(overflow.direct[i]));
    finite_too += isfinite(overflow.y[i]) ? 1 : 0;
  }
  assert_in_range(finite_too, 1, overflow.out);
  overflow.w[40] = NAN; /* of output 0 */
  run(&overflow, NULL, -INFINITY, INFINITY);
  reference(&overflow, -INFINITY, INFINITY);
  for (size_t i = 0; i < overflow.out; i++)
    assert_int_equal(isnan(overflow.y[i]) != 0, isnan(overflow.direct[i]) != 0);
  free_layer(&l), free_layer(&overflow);
}

/* A pixel of a billion does not make the outputs of its neighbours less accurate. */
static void a_large_pixel_does_not_drown_its_tile(void **unused) {
  (void)unused;
  for (int zeros = 0; zeros < 2; zeros++) {
    layer l = new_layer(1, 32, 32, 16, 16, 1, 1, NOISE);
    assert_true(rush_winograd(&l.s, NULL) > 0);
    if (zeros) memset(l.x, 0, 16 * 16 * 32 * sizeof *l.x);
    for (size_t i = 0; i < 32; i++) l.x[(5 * 16 + 6) * 32 + i] = 1e9f * noise();
    reference(&l, -INFINITY, INFINITY);
    run(&l, NULL, -INFINITY, INFINITY);
    for (size_t i = 0; i < l.out; i++) {
      const size_t h = i / 32 / 16, w = i / 32 % 16;
      const bool sees = h >= 4 && h <= 6 && w >= 5 && w <= 7;
      if (!(fabs((double)l.y[i] - l.exact[i]) <= (sees ? 1e4 : 1e-5)))
        fail_msg("pixel %zu, %zu: %g, not %g", h, w, (double)l.y[i], l.exact[i]);
    }
    free_layer(&l);
  }
}

static void any_number_of_threads_gives_the_same_bits(void **unused) {
  (void)unused;
  static const size_t shapes[][4] = {{16, 24, 90, 85}, {100, 200, 14, 15}, {256, 130, 9, 9}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const size_t *h = shapes[i];
    layer l = new_layer(2, h[0], h[1], h[2], h[3], 1, 1, NOISE);
    assert_true(rush_winograd(&l.s, NULL) > 0);
    l.x[1000] = INFINITY;
    l.x[5000] = 1e7f;
    run(&l, NULL, 0, INFINITY);
    memcpy(l.direct, l.y, l.out * sizeof *l.y);
    for (unsigned threads = 1; threads <= 5; threads++) {
      rush_ctx *ctx;
      assert_int_equal(rush_ctx_create(NULL, NULL, &ctx), RUSH_OK);
      assert_int_equal(rush_ctx_set_threads(ctx, threads), RUSH_OK);
      run(&l, ctx, 0, INFINITY);
      assert_memory_equal(l.y, l.direct, l.out * sizeof *l.y);
      rush_ctx_destroy(ctx);
    }
    free_layer(&l);
  }
}

static bool at_once(void *user) {
  (void)user;
  return true;
}

static void a_host_that_wants_it_stops_a_run(void **unused) {
  (void)unused;
  layer l = new_layer(4, 64, 64, 40, 40, 1, 1, NOISE);
  rush_ctx *ctx;
  assert_int_equal(rush_ctx_create(NULL, NULL, &ctx), RUSH_OK);
  run(&l, ctx, -INFINITY, INFINITY);
  const uint64_t whole = rush_ctx_work(ctx);
  assert_true(whole > 1 << 22);
  rush_ctx_set_poll(ctx, at_once, NULL);
  run(&l, ctx, -INFINITY, INFINITY);
  assert_int_equal(rush_take_stop(ctx), RUSH_ERR_INTERRUPTED);
  assert_true(rush_ctx_work(ctx) - whole < whole / 2);
  rush_ctx_destroy(ctx);
  free_layer(&l);
}

static void time_rows(void) {
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
    layer l = new_layer(6, layers[i][0], layers[i][1], layers[i][2], layers[i][2], 1, 1, NOISE);
    run(&l, NULL, -INFINITY, INFINITY);
    free_layer(&l);
  }
}

int main(int argc, char **argv) {
  if (timed_wanted(argc, argv)) return time_rows(), 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_error_is_at_most_four_times_the_direct_forms),
      cmocka_unit_test(sizes_around_the_tiles),
      cmocka_unit_test(other_convolutions_are_the_direct_forms),
      cmocka_unit_test(memory_is_bounded),
      cmocka_unit_test(what_is_not_finite_spreads_as_far_as_directly),
      cmocka_unit_test(a_large_pixel_does_not_drown_its_tile),
      cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
      cmocka_unit_test(a_host_that_wants_it_stops_a_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
