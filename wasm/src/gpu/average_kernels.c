/* Averages over windows and over parts of an image: a thread computes an element of the result. */
#include "gpu/images.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
/* region() returns the first and the last pixel that an element of the result covers, plus one, and
 * how many count. Words: 11, 12 the window, 13, 14 the stride, 15, 16 the padding, 17 whether
 * padding counts, 18 a divisor or 0. */
static const char windows[] = WGSL(
fn region(o: u32, d: u32) -> vec3<u32> {
  let n = i32(word(9u + d)); let pad = i32(word(15u + d));
  let first = i32(o * word(13u + d)) - pad;
  let last = min(first + i32(word(11u + d)), n + pad);
  let low = max(first, 0); let high = max(low, min(last, n));
  return vec3<u32>(u32(low), u32(high), u32(select(high - low, last - first, word(17u) != 0u)));
}
);
static const char parts[] = WGSL(
fn region(o: u32, d: u32) -> vec3<u32> {
  let n = word(9u + d); let m = word(2u + d);
  let low = o * n / m; let high = ((o + 1u) * n + m - 1u) / m;
  return vec3<u32>(low, high, high - low);
}
);
static const char averages[] = WGSL(
  let h = region(oh, 0u); let w = region(ow, 1u);
  let at = word(4u) + b * word(5u) + oc * word(6u);
  var sum = 0.0;
  for (var r = h.x; r < h.y; r++) {
    for (var q = w.x; q < w.y; q++) { sum += in0[at + r * word(7u) + q * word(8u)]; }
  }
  let n = select(f32(h.z * w.z), number(18u), number(18u) != 0.0);
  out[i] = select(div_(sum, n), 0.0, h.x >= h.y || w.x >= w.y);
}
);
/* clang-format on */

typedef struct form {
  bool adaptive, last;
} form;

static void write_averages(rush_text *t, const void *what) {
  const form *f = what;
  const char *const text = averages;
  rush_gpu_functions(t, &text, 1);
  rush_text_add(t, "%s", f->adaptive ? parts : windows);
  rush_gpu_write_images(t, f->last);
  rush_text_bytes(t, averages, sizeof averages - 1);
}

static bool can_average(const rush_tensor *x) {
  return rush_gpu_can_read_images(x) && x->rank == 4;
}

/* Makes a result of this height and width. `words` has words 11 to 18, `each` the pixels of an
 * element at most. */
static rush_status run_averages(rush_gpu *g, rush_call *c, bool adaptive, const int64_t *size,
                                const uint32_t *words, uint64_t each) {
  const rush_tensor *x = arg_tensor(c, 0);
  const int64_t sizes[] = {x->sizes[0], x->sizes[1], size[0], size[1]};
  const form f = {adaptive, rush_gpu_is_channels_last(x)};
  rush_gpu_job job = {.g = g, .c = c};
  const uint32_t key[] = {'d', f.adaptive, f.last};
  RUSH_TRY(rush_gpu_new_images(g, c, 4, sizes, f.last));
  const rush_tensor *out = rush_as_tensor(c->results);
  RUSH_TRY(rush_gpu_bind(&job, x));
  RUSH_TRY(rush_gpu_bind(&job, out));
  RUSH_TRY(rush_gpu_find_pipeline(&job, key, 3, "ff", write_averages, &f));
  rush_gpu_place_images(x, out, job.params);
  memcpy(job.params + 11, words, 8 * sizeof *words);
  return rush_gpu_dispatch_elements(&job, (uint64_t)out->numel, each);
}

static bool fits(const rush_tensor *x, const int64_t *size) {
  const int64_t sizes[] = {x->sizes[0], x->sizes[1], size[0], size[1]};
  return rush_gpu_fits_images(4, sizes);
}

bool rush_gpu_average_parts(rush_gpu *g, rush_call *c, const int64_t *size, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  const uint32_t words[8] = {0};
  uint64_t each = 1;
  if (!can_average(x)) return false;
  for (int d = 0; d < 2; d++) {
    const int64_t n = x->sizes[2 + d];
    if (size[d] < 1 || size[d] >= 1 << 15 || n >= 1 << 15) return false;
    each *= (uint64_t)(n / size[d] + 2);
  }
  if (!fits(x, size)) return false;
  *st = run_averages(g, c, true, size, words, each);
  return true;
}

/* aten::avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor). */
bool rush_gpu_avg_pool(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  const bool ceils = arg_bool(c, 4), divides = !arg_is_none(c, 6);
  const float divisor = divides ? (float)arg_int(c, 6) : 0;
  int64_t kernel[2], stride[2], padding[2], size[2];
  uint32_t words[8] = {[6] = arg_bool(c, 5)};
  (void)row;
  if (!can_average(x) || !rush_gpu_read_list(c, 1, 2, NULL, kernel) ||
      !rush_gpu_read_list(c, 2, 2, kernel, stride) || !rush_gpu_read_list(c, 3, 2, NULL, padding) ||
      (divides && divisor == 0))
    return false;
  for (int d = 0; d < 2; d++) {
    const int64_t n = x->sizes[2 + d];
    if (kernel[d] < 1 || stride[d] < 1 || padding[d] > kernel[d] / 2 || n >= 1 << 24) return false;
    size[d] = rush_gpu_count_windows(n, padding[d], padding[d], kernel[d], stride[d], ceils);
    if (size[d] == 0) return false;
    words[d] = (uint32_t)kernel[d], words[2 + d] = (uint32_t)stride[d];
    words[4 + d] = (uint32_t)padding[d];
  }
  if (!fits(x, size)) return false;
  memcpy(words + 7, &divisor, sizeof divisor);
  *st = run_averages(g, c, false, size, words, (uint64_t)kernel[0] * (uint64_t)kernel[1]);
  return true;
}
