/* my_ops::warp_perspective in C: what OpenCV computes on the host, with source coordinates in steps
 * of 1/32 pixel. (modules/imgproc/src/imgwarp.cpp: WarpPerspectiveInvoker, remapBilinear) */
#include <math.h>
#include <rushlight/op.h>

enum { SIZE = 8, STEPS = 32 };

static double pixel(const rush_tensor_info *t, double y, double x) {
  bool inside = y >= 0 && y < (double)t->sizes[0] && x >= 0 && x < (double)t->sizes[1];
  return inside ? ((const float *)t->data)[(int64_t)y * t->sizes[1] + (int64_t)x] : 0;
}

static double steps(double v) {
  return rint(fmax(-2147483648.0, fmin(2147483647.0, v)));
}

static rush_status warp_perspective(rush_call *call, void *user) {
  (void)user;
  rush_tensor_info image, warp;
  float *out;
  rush_status st = rush_call_tensor(call, 0, &image);
  if (st == RUSH_OK) st = rush_call_tensor(call, 1, &warp);
  if (st != RUSH_OK) return st;
  if (image.dtype != RUSH_FLOAT32 || warp.dtype != RUSH_FLOAT32)
    return rush_call_fail(call, "image and warp are float32");
  if (image.rank != 2 || warp.numel != 9)
    return rush_call_fail(call, "image has two dimensions, warp is 3 by 3");
  st = rush_call_result(call, 0, RUSH_FLOAT32, 2, (const int64_t[]){SIZE, SIZE}, (void **)&out);
  if (st != RUSH_OK) return st;

  double m[9], inverse[9];
  for (int k = 0; k < 9; k++) m[k] = (double)((const float *)warp.data)[k];
  for (int k = 0; k < 9; k++) { /* the adjugate: cofactors, transposed */
    int r = k % 3, c = k / 3, r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3,
        c2 = (c + 2) % 3;
    inverse[k] = m[3 * r1 + c1] * m[3 * r2 + c2] - m[3 * r1 + c2] * m[3 * r2 + c1];
  }
  double det = m[0] * inverse[0] + m[1] * inverse[3] + m[2] * inverse[6];
  for (int k = 0; k < 9; k++) inverse[k] = det == 0 ? 0 : inverse[k] / det;

  for (int y = 0; y < SIZE; y++) {
    for (int x = 0; x < SIZE; x++) {
      double w = inverse[6] * x + inverse[7] * y + inverse[8], scale = w == 0 ? 0 : STEPS / w;
      double sx = steps((inverse[0] * x + inverse[1] * y + inverse[2]) * scale) / STEPS;
      double sy = steps((inverse[3] * x + inverse[4] * y + inverse[5]) * scale) / STEPS;
      double left = floor(sx), top = floor(sy), fx = sx - left, fy = sy - top;
      out[y * SIZE + x] =
          (float)((pixel(&image, top, left) * (1 - fx) + pixel(&image, top, left + 1) * fx) *
                      (1 - fy) +
                  (pixel(&image, top + 1, left) * (1 - fx) +
                   pixel(&image, top + 1, left + 1) * fx) *
                      fy);
    }
  }
  return RUSH_OK;
}

const rush_custom_op warp_op = {
    .size = sizeof warp_op,
    .schema = "my_ops::warp_perspective(Tensor image, Tensor warp) -> Tensor",
    .run = warp_perspective};
