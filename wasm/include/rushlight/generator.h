/* The random number generator of a session. Programs read and set its state to share one
 * generator between sessions or with PyTorch, as the TorchScript class does. To seed it, use
 * rush_session_manual_seed. */
#ifndef RUSHLIGHT_GENERATOR_H
#define RUSHLIGHT_GENERATOR_H

#include "rushlight.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of words in the state. */
enum { RUSH_RANDOM_WORDS = 624 };

/* The state of a Mersenne twister as at::mt19937 has it, and the pending normal number
 * (CPUGeneratorImpl). */
typedef struct rush_random {
  uint32_t words[RUSH_RANDOM_WORDS]; /* the twister's state */
  uint32_t used;                     /* words used so far; the twister runs again after the last */
  bool has_normal;                   /* `normal` is pending */
  double normal;                     /* the second number of the last pair */
} rush_random;

/* Copies the state of the session's generator to *out, which is plain data. */
void rush_session_get_random(const rush_session *session, rush_random *out);
/* Sets the state of the session's generator. A `used` beyond the number of words counts as all
 * of them. */
void rush_session_set_random(rush_session *session, const rush_random *random);

#ifdef __cplusplus
}
#endif
#endif
