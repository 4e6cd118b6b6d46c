/* Discrete Fourier transforms of any length, in double: what goes in as float32 comes out as exact as
 * float32 can be. Lengths of small prime factors go by mixed radix, others by a convolution
 * (Bluestein's): n log n steps always. */
#ifndef RUSH_FFT_H
#define RUSH_FFT_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rush_fft {
  struct rush_ctx *ctx; /* see rush_should_stop; may be NULL */
  size_t n;             /* the length */
  bool halved;          /* of real numbers, done as n / 2 complex ones */
  size_t points;        /* n, or n / 2 */
  size_t length;        /* of the transforms that do it: points, or that of a convolution */
  uint8_t factors[64];  /* of length, ended by 0 */
  double complex *roots, *chirp, *spectrum, *halves, *work;
} rush_fft;

/* Plans transforms of n > 0 numbers, complex ones or `real`, and gives how many complex numbers of
 * memory they need. */
size_t rush_fft_plan(struct rush_ctx *ctx, size_t n, bool real, rush_fft *plan);
/* Fills the plan's tables in that memory, which stays the caller's. */
void rush_fft_init(rush_fft *plan, double complex *memory);

/* out[k] = sum over j of in[j] exp(-2 pi i j k / n). in and out do not overlap, here and below. */
void rush_fft_run(const rush_fft *plan, const double complex *in, double complex *out);
/* Of a real plan: the same for n real numbers in the real parts of in[0], its imaginary part, in[1]
 * and so on; out[0 .. n/2], of which the others are the conjugates backwards. Destroys `in`. */
void rush_fft_from_real(const rush_fft *plan, double complex *in, double complex *out);
/* Of a real plan: out[j] = sum over k of in[k] exp(2 pi i j k / n), n real numbers as above, for
 * in[0 .. n/2] and their conjugates backwards. Destroys `in`; both have room for n complex numbers. */
void rush_fft_to_real(const rush_fft *plan, double complex *in, double complex *out);

#endif
