#include "base/mt19937.h"

#include <math.h>

enum { N = RUSH_RANDOM_WORDS, M = 397 };

void rush_random_seed(rush_random *random, uint64_t seed) {
  uint32_t *w = random->words;
  w[0] = (uint32_t)seed;
  for (uint32_t i = 1; i < N; i++) w[i] = 1812433253u * (w[i - 1] ^ w[i - 1] >> 30) + i;
  random->used = N;
  random->has_normal = false;
}

void rush_random_seed_freshly(rush_ctx *ctx, rush_random *random) {
  uint64_t seed;
  if (!rush_entropy(ctx, &seed, sizeof seed)) seed = 67280421310721; /* PyTorch's default seed */
  rush_random_seed(random, seed);
}

static void make_words(uint32_t *w) {
  for (int i = 0; i < N; i++) {
    const uint32_t next = w[i + 1 < N ? i + 1 : 0],
                   both = (w[i] & 0x80000000u) | (next & 0x7fffffffu);
    w[i] = w[i < N - M ? i + M : i - (N - M)] ^ both >> 1 ^ (next & 1 ? 0x9908b0dfu : 0);
  }
}

uint32_t rush_random_32(rush_random *random) {
  if (random->used == N) {
    make_words(random->words);
    random->used = 0;
  }
  uint32_t y = random->words[random->used++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680u;
  y ^= y << 15 & 0xefc60000u;
  return y ^ y >> 18;
}

uint64_t rush_random_64(rush_random *random) {
  const uint64_t upper = rush_random_32(random);
  return upper << 32 | rush_random_32(random);
}

float rush_random_float(rush_random *random) {
  return (float)(rush_random_32(random) & 0xffffff) * 0x1p-24f;
}

double rush_random_double(rush_random *random) {
  return (double)(rush_random_64(random) & 0x1fffffffffffff) * 0x1p-53;
}

double rush_random_normal(rush_random *random) {
  if (random->has_normal) {
    random->has_normal = false;
    return random->normal;
  }
  const double turn = rush_random_double(random), far = rush_random_double(random);
  const double radius = sqrt(-2 * log1p(-far)), angle = 2 * 3.14159265358979323846 * turn;
  random->normal = radius * sin(angle);
  random->has_normal = true;
  return radius * cos(angle);
}
