#include "base/base.h"

enum { PIECE = 1 << 20, PER_STEP = 16 }; /* bytes at once, and in one step of work */

bool rush_next_piece(rush_ctx *ctx, size_t n, size_t each, size_t at, size_t *some) {
  const size_t most = (1 << 20) / each + 1;
  *some = n - at < most ? n - at : most;
  return at < n && !rush_should_stop(ctx, *some * each);
}

bool rush_often_should_stop(rush_ctx *ctx, int64_t i) {
  return rush_should_stop(ctx, i > 0 ? RUSH_OFTEN : 0);
}
rush_status rush_charge_next(rush_ctx *ctx, int64_t left) {
  return rush_charge(ctx, (uint64_t)(left < RUSH_OFTEN ? left : RUSH_OFTEN));
}

rush_status rush_copy_bytes(rush_ctx *ctx, void *to, const void *from, size_t n) {
  for (size_t at = 0; at < n; at += PIECE) {
    const size_t piece = n - at < PIECE ? n - at : PIECE;
    RUSH_TRY(rush_charge(ctx, piece / PER_STEP + 1));
    memcpy((char *)to + at, (const char *)from + at, piece);
  }
  return RUSH_OK;
}

rush_status rush_set_bytes(rush_ctx *ctx, void *to, int byte, size_t n) {
  for (size_t at = 0; at < n; at += PIECE) {
    const size_t piece = n - at < PIECE ? n - at : PIECE;
    RUSH_TRY(rush_charge(ctx, piece / PER_STEP + 1));
    memset((char *)to + at, byte, piece);
  }
  return RUSH_OK;
}
