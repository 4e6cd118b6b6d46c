/* my_ops::warp_perspective in C. It computes the same as OpenCV on the host, with source
 * coordinates in steps of 1/32 pixel. (modules/imgproc/src/imgwarp.cpp: WarpPerspectiveInvoker,
 * remapBilinear) */
#include <math.h>
#include <rushlight/op.h>

enum { SIZE = 8 };

static double pixel(const rush_tensor_info *t, double y, double x) {
  bool inside = y >= 0 && y < (double)t->sizes[0] && x >= 0 && x < (double)t->sizes[1];
  return inside ? ((const float *)t->data)[(int64_t)y * t->sizes[1] + (int64_t)x] : 0;
}

static rush_status warp_perspective(rush_call *call, void *user) {
  (void)user;
  rush_tensor_info image, warp;
  float *out;
  rush_status st = rush_call_tensor_of(call, 0, RUSH_FLOAT32, 2, &image);
  if (st == RUSH_OK) st = rush_call_tensor_of(call, 1, RUSH_FLOAT32, 2, &warp);
  if (st == RUSH_OK && warp.numel != 9) st = rush_call_fail(call, "warp is 3 by 3");
  if (st == RUSH_OK)
    st = rush_call_result(call, 0, RUSH_FLOAT32, 2, (int64_t[]){SIZE, SIZE}, (void **)&out);
  if (st != RUSH_OK) return st;

  double m[9], inverse[9], det = 0;
  for (int k = 0; k < 9; k++) m[k] = ((const float *)warp.data)[k];
  for (int k = 0; k < 9; k++) { /* the adjugate: cofactors, transposed */
    int r1 = (k + 1) % 3 * 3, r2 = (k + 2) % 3 * 3, c1 = (k / 3 + 1) % 3, c2 = (k / 3 + 2) % 3;
    inverse[k] = m[r1 + c1] * m[r2 + c2] - m[r1 + c2] * m[r2 + c1];
  }
  for (int k = 0; k < 3; k++) det += m[k] * inverse[3 * k];
  for (int k = 0; k < 9; k++) inverse[k] = det == 0 ? 0 : inverse[k] / det;

  for (int i = 0; i < SIZE * SIZE; i++) {
    double at[3], low[2], part[2], sum = 0; /* x, y, and their common divisor */
    for (int k = 0; k < 3; k++)
      at[k] = inverse[3 * k] * (i % SIZE) + inverse[3 * k + 1] * (i / SIZE) + inverse[3 * k + 2];
    for (int k = 0; k < 2; k++) {
      double steps = rint(fmax(INT32_MIN, fmin(INT32_MAX, at[2] == 0 ? 0 : at[k] * (32 / at[2]))));
      low[k] = floor(steps / 32), part[k] = steps / 32 - low[k];
    }
    for (int k = 0; k < 4; k++) {
      double weight = (k & 1 ? part[0] : 1 - part[0]) * (k & 2 ? part[1] : 1 - part[1]);
      sum += weight * pixel(&image, low[1] + (k >> 1), low[0] + (k & 1));
    }
    out[i] = (float)sum;
  }
  return RUSH_OK;
}

const rush_custom_op warp_op = {
    .size = sizeof warp_op,
    .schema = "my_ops::warp_perspective(Tensor image, Tensor warp) -> Tensor",
    .run = warp_perspective};
