#include "blocks/draw.h"

#include <math.h>

void rush_draw_fill(rush_random *random, rush_tensor *t, rush_draw draw, double a, double b) {
  const rush_tensor *operands[] = {t};
  rush_iter it;
  rush_iter_init(&it, t->rank, t->sizes, 1, operands);
  do {
    for (int64_t i = 0; i < it.size[0]; i++)
      draw(random, a, b, (rush_dtype)t->dtype, it.at[0] + i * it.stride[0][0]);
  } while (rush_iter_next(&it));
}

static void bernoulli(rush_random *random, double p, double b, rush_dtype dtype, void *at) {
  (void)b;
  rush_store_int(dtype, at, rush_random_double(random) < p);
}
void rush_draw_bernoulli(rush_random *random, rush_tensor *t, double p) {
  rush_draw_fill(random, t, bernoulli, p, 0);
}

static void exponential(rush_random *random, double lambda, double b, rush_dtype dtype, void *at) {
  (void)b;
  rush_store_double(dtype, at, -1 / lambda * log1p(-rush_random_double(random)));
}
void rush_draw_exponential(rush_random *random, rush_tensor *t, double lambda) {
  rush_draw_fill(random, t, exponential, lambda, 0);
}
