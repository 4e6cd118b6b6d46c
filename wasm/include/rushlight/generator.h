/* The generator of a session's random numbers, to take its state and to give it back: for programs
 * that share one generator between sessions, or with PyTorch (the TorchScript class does). To seed
 * it, rush_session_manual_seed is enough. */
#ifndef RUSHLIGHT_GENERATOR_H
#define RUSHLIGHT_GENERATOR_H

#include "rushlight.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many words the state has. */
enum { RUSH_RANDOM_WORDS = 624 };

/* A Mersenne twister as at::mt19937 is one, and the normal number that waits (CPUGeneratorImpl). */
typedef struct rush_random {
  uint32_t words[RUSH_RANDOM_WORDS]; /* the twister's state */
  uint32_t used;                     /* of these words; at the end they are made anew */
  bool has_normal;                   /* the second number of the last pair waits */
  double normal;                     /* that number */
} rush_random;

/* Copies the state out: plain data. */
void rush_session_get_random(const rush_session *session, rush_random *out);
/* Copies it in. `used` beyond the words counts as all. */
void rush_session_set_random(rush_session *session, const rush_random *random);

#ifdef __cplusplus
}
#endif
#endif
