#include "blocks/random_fill.h"

#include <math.h>

enum { DRAW_WORK = 16 }; /* work per number */

void rush_random_fill(rush_call *c, rush_tensor *t, rush_random_fn draw, double a, double b) {
  const rush_tensor *operands[] = {t};
  rush_iter it;
  rush_iter_init(&it, t->rank, t->sizes, 1, operands);
  do {
    for (int64_t i = 0; i < it.size[0] && !rush_should_stop(c->ctx, DRAW_WORK); i++)
      draw(c->random, a, b, t->dtype, it.at[0] + i * it.stride[0][0]);
  } while (!c->ctx->stopped && rush_iter_next(&it));
}

static void bernoulli(rush_random *random, double p, double b, rush_dtype dtype, void *at) {
  (void)b;
  rush_store_int(dtype, at, rush_random_double(random) < p);
}
void rush_random_fill_bernoulli(rush_call *c, rush_tensor *t, double p) {
  rush_random_fill(c, t, bernoulli, p, 0);
}

static void exponential(rush_random *random, double lambda, double b, rush_dtype dtype, void *at) {
  (void)b;
  rush_store_double(dtype, at, -1 / lambda * log1p(-rush_random_double(random)));
}
void rush_random_fill_exponential(rush_call *c, rush_tensor *t, double lambda) {
  rush_random_fill(c, t, exponential, lambda, 0);
}
