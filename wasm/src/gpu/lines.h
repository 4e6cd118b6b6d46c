/* Kernels in which a workgroup computes a line of elements. */
#ifndef RUSH_GPU_LINES_H
#define RUSH_GPU_LINES_H

#include "gpu/device.h"

enum { RUSH_GPU_MORE = 4 /* tensors beside the lines */ };

typedef struct rush_gpu_lines {
  char name;             /* of the kernel, for its key */
  const char *text[2];   /* WGSL in `main`; the second may be NULL */
  const char *functions; /* WGSL before `main`, or NULL */
  bool writes_words;     /* whether the result is array<u32> */
  uint32_t lines, n, step;
  float number;                           /* number(12u) */
  const rush_tensor *more[RUSH_GPU_MORE]; /* in1, in2, ...; NULL at the end */
  uint32_t words[3];                      /* word(17u) .. word(19u) */
} rush_gpu_lines;

/* Runs a kernel over the lines of a row-major tensor. In its text, `line` is the number of the
 * line, `l` the thread of 64, `n` the elements of a line and `step` their stride. The line begins
 * at in0[at], and in a result of the same sizes at out[first]. in1 begins at word(13u), in2 at
 * word(14u), and so on. sum_of(l, v) and largest_of(l, v) combine a number of each thread. */
rush_status rush_gpu_run_lines(rush_gpu *g, rush_call *c, const rush_gpu_lines *k,
                               const rush_tensor *x, const rush_tensor *out);
/* Returns whether rush_gpu_row_major can make a tensor row-major. */
bool rush_gpu_is_plain(const rush_tensor *t);

#endif
