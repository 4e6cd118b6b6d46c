/* Discrete Fourier transforms of any length in double precision, so that results for float32 inputs
 * are accurate to float32 rounding. Lengths with small prime factors use mixed radix, others
 * Bluestein's convolution. Both take O(n log n) steps. */
#ifndef RUSH_FFT_H
#define RUSH_FFT_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rush_fft {
  struct rush_ctx *ctx; /* see rush_should_stop; may be NULL */
  size_t n;             /* length of the transform */
  bool halved;          /* a real transform, computed as n / 2 complex numbers */
  size_t points;        /* n, or n / 2 */
  size_t length;        /* length of the complex transform: points, or that of the convolution */
  uint8_t factors[64];  /* factors of length, ended by 0 */
  double complex *roots, *chirp, *spectrum, *halves, *work;
} rush_fft;

/* Plans transforms of n > 0 complex numbers, or real ones if `real`. Returns the number of complex
 * numbers of memory that the tables need. */
size_t rush_fft_plan(struct rush_ctx *ctx, size_t n, bool real, rush_fft *plan);
/* Fills the plan's tables in that memory, which the caller owns. */
void rush_fft_init(rush_fft *plan, double complex *memory);

/* Computes out[k] = sum over j of in[j] exp(-2 pi i j k / n). in and out must not overlap, here and
 * below. */
void rush_fft_run(const rush_fft *plan, const double complex *in, double complex *out);
/* For a real plan: transforms n real numbers that are stored in the real and imaginary parts of
 * in[0], in[1] and so on. Writes out[0 .. n/2]; the other elements are their conjugates in reverse.
 * Destroys `in`. */
void rush_fft_from_real(const rush_fft *plan, double complex *in, double complex *out);
/* For a real plan: computes out[j] = sum over k of in[k] exp(2 pi i j k / n) from in[0 .. n/2] and
 * their conjugates in reverse. The n real results are stored as above. Destroys `in`. Both arrays
 * have room for n complex numbers. */
void rush_fft_to_real(const rush_fft *plan, double complex *in, double complex *out);

#endif
