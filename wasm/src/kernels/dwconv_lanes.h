/* Rows of a depthwise convolution with any kernel, stride and dilation, on RUSH_LANES channels at a
 * time. dwconv.c, dwconv_avx2.c and dwconv_avx512.c include this file to define
 * RUSH_WITH_LANES(dw_row). */
#include <stdbool.h>

#include "kernels/dwconv_row.h"
#include "kernels/simd.h"

/* TILE output pixels share each load of a weight. VECTORS vectors of channels give enough
 * independent sums to hide latency. */
enum { TILE = 4, VECTORS = 2 };

/* Writes the first `left` channels of a pixel. */
RUSH_INLINE void dw_put(const rush_dw_row *r, float *y, const f4 sum[VECTORS], size_t left,
                        const int V) {
  for (int v = 0; v < V; v++) {
    const f4 whole = f4_less(f4_set(r->max), f4_more(f4_set(r->min), sum[v]));
    if (left >= RUSH_LANES) {
      f4_store(y + v * RUSH_LANES, whole);
    } else {
      f4_store_part(y, whole, left);
    }
  }
}

/* Computes channels from c on of TILE output pixels from o on. Only the first n pixels and `left`
 * channels are written. INSIDE: all windows are inside the input, except for rows that `r`
 * excludes. Each kernel plane is a single loop with a predictable end, and offsets are in bytes, so
 * that an address costs one addition. */
RUSH_INLINE void dw_tile(const rush_dw_row *r, size_t c, size_t o, size_t n, size_t left,
                         const int V, const bool INSIDE) {
  static const float zeros[VECTORS * RUSH_LANES];
  const ptrdiff_t item = (ptrdiff_t)(r->channels * sizeof(float)), columns = r->columns;
  const ptrdiff_t dilation = (ptrdiff_t)r->dilation, stride = (ptrdiff_t)r->stride;
  const ptrdiff_t next = dilation * item, pixel = stride * item;
  const ptrdiff_t row = r->x_h * (ptrdiff_t)sizeof(float) - (ptrdiff_t)(r->width - 1) * next;
  const ptrdiff_t first = r->first + (ptrdiff_t)o * stride;
  f4 sum[TILE][VECTORS];
  for (int p = 0; p < TILE; p++)
    for (int v = 0; v < V; v++) sum[p][v] = f4_load(r->bias + c + v * RUSH_LANES);
  for (size_t d = 0; d < r->d; d++) {
    const char *from = (const char *)(r->x + (ptrdiff_t)d * r->x_d + c) + first * item;
    const float *w = r->w + d * r->w_d + c;
    ptrdiff_t at = first;
    size_t i = r->width;
    for (size_t k = r->h * r->width; k > 0; k--, w += r->row) {
      f4 weight[VECTORS];
      for (int v = 0; v < V; v++) weight[v] = f4_load(w + v * RUSH_LANES);
      for (int p = 0; p < TILE; p++) {
        const ptrdiff_t column = at + p * stride;
        const void *x = from + p * pixel;
        if (!INSIDE) x = column >= 0 && column < columns ? x : zeros;
        for (int v = 0; v < V; v++)
          sum[p][v] = f4_madd(f4_load((const float *)x + v * RUSH_LANES), weight[v], sum[p][v]);
      }
      const bool ends = --i == 0;
      i = ends ? r->width : i;
      from += ends ? row : next;
      at = ends ? first : at + dilation;
    }
  }
  float *y = r->y + o * r->channels + c;
  for (size_t p = 0; p < TILE; p++, y += r->channels) {
    if (p == n) break;
    dw_put(r, y, sum[p], left, V);
  }
}

/* Computes channels from c on for the whole row. The last few columns do not justify a separate
 * loop. */
RUSH_INLINE void dw_channels(const rush_dw_row *r, size_t c, size_t left, const int V) {
  const size_t reach = (TILE - 1) * r->stride + (r->width - 1) * r->dilation;
  for (size_t o = 0; o < r->n; o += TILE) {
    /* The last tile moves back so that it is complete, if the row is long enough. */
    const size_t from = r->n >= TILE && o + TILE > r->n ? r->n - TILE : o;
    const ptrdiff_t first = r->first + (ptrdiff_t)(from * r->stride);
    if (V > 1 && r->n >= TILE && first >= 0 && first + (ptrdiff_t)reach < r->columns) {
      dw_tile(r, c, from, TILE, left, V, true);
    } else {
      dw_tile(r, c, from, r->n < TILE ? r->n : TILE, left, V, false);
    }
  }
}

void RUSH_WITH_LANES(dw_row)(const rush_dw_row *r, size_t begin, size_t end) {
  size_t c = begin;
  for (; c + VECTORS * RUSH_LANES <= end; c += VECTORS * RUSH_LANES)
    dw_channels(r, c, end - c, VECTORS);
  for (; c < end; c += RUSH_LANES) dw_channels(r, c, end - c, 1);
}
