/* Discrete Fourier transforms of any length, in double: what goes in as float32 comes out as exact as
 * float32 can be. Lengths of small prime factors go by mixed radix, others by a convolution
 * (Bluestein's): n log n steps always. */
#ifndef RUSH_FFT_H
#define RUSH_FFT_H

#include <complex.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rush_fft {
  struct rush_ctx *ctx; /* see rush_stops; may be NULL */
  size_t n;             /* the length */
  size_t length;        /* of the transforms that do it: n, or that of a convolution */
  uint8_t factors[64];  /* of length, ended by 0 */
  double complex *roots, *chirp, *spectrum, *work;
} rush_fft;

/* Plans transforms of n > 0 elements and gives how many complex numbers of memory they need. */
size_t rush_fft_plan(struct rush_ctx *ctx, size_t n, rush_fft *plan);
/* Fills the plan's tables in that memory, which stays the caller's. */
void rush_fft_init(rush_fft *plan, double complex *memory);
/* out[k] = sum over j of in[j] exp(-2 pi i j k / n). They do not overlap. */
void rush_fft_run(const rush_fft *plan, const double complex *in, double complex *out);

#endif
