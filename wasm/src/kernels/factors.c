/* One body for real and complex matrices. */
#include "kernels/factors.h"

#include <float.h>
#include <math.h>

#include "base/base.h"

enum { MAX_SWEEPS = 60 }; /* of Jacobi's rotations; ten are many */

#define NUM double
#define NAME(name) name##_f64
#define CONJ(x) (x)
#define REAL(x) (x)
#define SIZE(x) fabs(x)
#define PIVOT_SIZE(x) fabs(x)
#include "kernels/factors_of.h"
#undef NUM
#undef NAME
#undef CONJ
#undef REAL
#undef SIZE
#undef PIVOT_SIZE

#define NUM double complex
#define NAME(name) name##_c128
#define CONJ(x) conj(x)
#define REAL(x) creal(x)
#define SIZE(x) cabs(x)
#define PIVOT_SIZE(x) (fabs(creal(x)) + fabs(cimag(x))) /* as LAPACK has it */
#include "kernels/factors_of.h"
