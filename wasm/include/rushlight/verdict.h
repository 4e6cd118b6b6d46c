/* The rule that decides whether an answer is right, for the exporter, test vectors and traces.
 *
 * Two programs that compute the same in a different order round differently, and some models
 * amplify these errors. PyTorch's own answer may be just as far from the truth, which is the answer
 * of the same program in float64. Each tensor or number is judged by these steps, in this order:
 *
 *   1. It is correct if all elements are close: |a - b| <= rtol * |b| + atol, as in torch.allclose,
 *      where b is PyTorch's answer. If float64 shows that PyTorch is exact enough, atol counts in
 *      units of b's greatest element when that is below 1, so that small numbers get no more room.
 *   2. If float64's answer is known, it is correct if its distance to that answer is at most
 *      RUSH_VERDICT_MULTIPLE times PyTorch's own distance (verdict.c has the bounds). This must
 *      hold in two norms: the greatest difference, which shows a single wrong element, and the root
 *      of the sum of squares.
 *   3. Otherwise, if the caller asks for it, it is correct if the differences are small compared
 *      with PyTorch's answer as a whole, in the same norms.
 *
 * NaN and infinities must always be where PyTorch or float64 has them. A value that is not floating
 * point must equal PyTorch's, or float64's. */
#ifndef RUSHLIGHT_VERDICT_H
#define RUSHLIGHT_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sums in a different order have errors that differ by small factors. The greatest factors
 * relative to PyTorch, for networks with random weights on 224x224 pixels, were: resnet50 3.8
 * with libtorch's plain kernels and 2.9 with its AVX-512 kernels, mobilenet_v2 2.5 and 2.4,
 * efficientnet_b0 1.9 with the latter, and a network of 90 layers 4.1 with AVX2. For a few
 * elements PyTorch may be exact by chance. */
enum {
  RUSH_VERDICT_MULTIPLE = 8,
  RUSH_VERDICT_MULTIPLE_OF_FEW = 16,
  RUSH_VERDICT_FEW = 16 /* fewer elements than this are few */
};

/* The distance between two answers. `max` is the greatest difference of elements, in units of
 * the greatest element. `l2` is the root of the sum of squared differences, in units of that of
 * the elements. */
typedef struct rush_distance {
  double max, l2;
} rush_distance;

/* The comparison of one tensor or number. Call begin, add each element, then ask for the result. */
typedef struct rush_verdict {
  double rtol, atol, tight_atol;
  bool measured; /* float64's answer is known */
  bool by_norm;  /* step 3 may decide if it is not known */
  bool close, tight, broken;
  uint64_t n;
  double most, squares; /* of float64's elements, or of PyTorch's if those are not known */
  rush_distance pytorch, rushlight, difference; /* not yet in units; l2 is still a sum of squares */
} rush_verdict;

/* Begins a comparison with these tolerances. `most` is the greatest finite |b|. */
void rush_verdict_begin(rush_verdict *v, double rtol, double atol, double most, bool measured,
                        bool by_norm);
/* Adds an element of the answer, with PyTorch's and float64's, which is ignored unless
 * `measured`. */
void rush_verdict_add(rush_verdict *v, double got, double pytorch, double exact);
/* Returns whether the answer is correct by the steps above. */
bool rush_verdict_is_right(const rush_verdict *v);
/* Returns whether float64's answer is near enough to PyTorch's to come from the same
 * computation. Otherwise it cannot judge the answer. */
bool rush_verdict_is_measure(const rush_verdict *v);
/* Stores the distances of PyTorch's answer to float64's, of this answer to float64's, and
 * between the two. The first two are zeros if float64's answer is not known. */
void rush_verdict_distances(const rush_verdict *v, rush_distance *pytorch, rush_distance *rushlight,
                            rush_distance *difference);

#ifdef __cplusplus
}
#endif
#endif
