#include "kernels/fp16.h"
#include "tensor/copy_row.h"
#include "tensor/tensor.h"

enum { BLOCK = 256 };
static const int64_t half = sizeof(uint16_t), item = sizeof(float);

/* Converts through float32, in blocks. */
static void copy_by_blocks(rush_dtype td, char *to, int64_t to_step, rush_dtype fd,
                           const char *from, int64_t from_step, int64_t n) {
  _Alignas(16) char narrow[BLOCK * sizeof(uint16_t)];
  _Alignas(16) char wide[BLOCK * sizeof(float)];
  for (int64_t done = 0; done < n;
       done += BLOCK, from += BLOCK * from_step, to += BLOCK * to_step) {
    const int64_t m = n - done < BLOCK ? n - done : BLOCK;
    if (rush_is_half(fd)) {
      rush_copy_items((size_t)half, narrow, half, from, from_step, m);
      rush_widen_halves(fd, (size_t)m, narrow, wide);
    } else {
      rush_copy_row(RUSH_FLOAT32, wide, item, fd, from, from_step, m);
    }
    if (rush_is_half(td)) {
      rush_narrow_floats(td, (size_t)m, wide, narrow);
      rush_copy_items((size_t)half, to, to_step, narrow, half, m);
    } else {
      rush_copy_row(td, to, to_step, RUSH_FLOAT32, wide, item, m);
    }
  }
}

static void copy_halves(rush_dtype td, char *to, int64_t to_step, rush_dtype fd, const char *from,
                        int64_t from_step, int64_t n) {
  if (td == RUSH_FLOAT32 && to_step == item && from_step == half) {
    rush_widen_halves(fd, (size_t)n, from, to);
  } else if (fd == RUSH_FLOAT32 && from_step == item && to_step == half) {
    rush_narrow_floats(td, (size_t)n, from, to);
  } else {
    copy_by_blocks(td, to, to_step, fd, from, from_step, n);
  }
}
rush_copy_row_fn *const rush_optional_copy_halves = copy_halves;
