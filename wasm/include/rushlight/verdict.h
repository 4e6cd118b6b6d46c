/* Whether an answer is right: one rule for the exporter, test vectors and traces.
 *
 * Two programs that compute the same in another order round otherwise, and some models make much of
 * that. So an answer may differ from PyTorch's by more than rounding usually does where PyTorch's
 * own answer is as far from the truth: what the same program gives in float64. Of each tensor or
 * number, in this order:
 *
 *   1. Right, where all elements are close: |a - b| <= rtol * |b| + atol, as torch.allclose, b
 *      PyTorch's. Where float64 shows that PyTorch is exact enough to tell, atol counts in units of
 *      b's greatest element, if that is below 1: small numbers get no more room than others.
 *   2. Where float64's answer is known: right, where the distance to it is at most
 *      RUSH_VERDICT_MULTIPLE times PyTorch's own (verdict.c has its bounds), in two norms: the greatest
 *      difference, which one wrong element shows in, and the root of the sum of squares.
 *   3. Else, where asked for: right, where the differences are small beside PyTorch's answer as a
 *      whole, in the same norms.
 *
 * NaN and infinities must be where PyTorch or float64 has them, always. What is no floating-point
 * number must be PyTorch's, or float64's. */
#ifndef RUSHLIGHT_VERDICT_H
#define RUSHLIGHT_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Errors of sums that are ordered otherwise differ by small factors. Of networks with random weights
 * on 224x224 pixels the greatest was, in units of PyTorch's: resnet50 3.8 with libtorch's plain
 * kernels and 2.9 with its AVX-512 ones, mobilenet_v2 2.5 and 2.4, efficientnet_b0 1.9 with the
 * latter; of one of 90 layers 4.1 with AVX2. Of a few elements, chance may have PyTorch exact. */
enum {
  RUSH_VERDICT_MULTIPLE = 8,
  RUSH_VERDICT_MULTIPLE_OF_FEW = 16,
  RUSH_VERDICT_FEW = 16 /* fewer elements than this are few */
};

/* How far two answers are from each other: the greatest difference of elements, in units of the
 * greatest element, and the root of the sum of squares of all, in units of that of the elements. */
typedef struct rush_distance {
  double max, l2;
} rush_distance;

/* The comparison of one tensor or number: begin, add each element, then ask. */
typedef struct rush_verdict {
  double rtol, atol, tight_atol;
  bool measured; /* float64's answer is known */
  bool by_norm;  /* where it is not, rule 3 may decide */
  bool close, tight, broken;
  uint64_t n;
  double most, squares; /* of float64's elements, or PyTorch's where that is not known */
  rush_distance pytorch, own, between; /* not yet in units, l2 not yet its root */
} rush_verdict;

/* `most`: the greatest finite |b|. */
void rush_verdict_begin(rush_verdict *v, double rtol, double atol, double most, bool measured,
                        bool by_norm);
/* An element of the answer, PyTorch's and float64's (ignored where not measured). */
void rush_verdict_add(rush_verdict *v, double got, double pytorch, double exact);
/* Whether the answer is as right as PyTorch's, by the rules above. */
bool rush_verdict_is_right(const rush_verdict *v);
/* Whether float64's answer tells anything: it is near enough to PyTorch's to be of the same
 * computation. */
bool rush_verdict_is_measure(const rush_verdict *v);
/* PyTorch's distance to float64's answer, this answer's, and between the two; zeros for the first
 * two where float64's is not known. */
void rush_verdict_distances(const rush_verdict *v, rush_distance *pytorch, rush_distance *own,
                            rush_distance *between);

#ifdef __cplusplus
}
#endif
#endif
