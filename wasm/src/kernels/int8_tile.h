/* The inner loops of int8.c: some rows times a block of columns. */
#ifndef RUSH_INT8_TILE_H
#define RUSH_INT8_TILE_H

#include <stddef.h>
#include <stdint.h>

enum {
  RUSH_INT8_NR = 8, /* columns of a block */
  RUSH_INT8_KR = 4, /* weights of a column that lie together */
  RUSH_INT8_MR = 6  /* the most rows of a tile */
};

/* What a row's elements are. */
typedef enum rush_int8_form {
  RUSH_INT8_WIDE,     /* int16: q - zero */
  RUSH_INT8_UNSIGNED, /* uint8: q */
  RUSH_INT8_SIGNED    /* int8: q - 128, and so is the zero */
} rush_int8_form;

/* sums[r][c] = the sum over `groups` of KR products each. Rows that are not there may be any of the
 * others. w: [groups][NR][KR]. */
typedef void rush_int8_tile(size_t groups, const void *const rows[RUSH_INT8_MR], const int8_t *w,
                            int32_t sums[RUSH_INT8_MR][RUSH_INT8_NR]);

/* Defines one, as `of`, which is inlined, does it for mr rows. */
#define RUSH_INT8_TILE(name, of, mr)                                              \
  void name(size_t groups, const void *const rows[RUSH_INT8_MR], const int8_t *w, \
            int32_t sums[RUSH_INT8_MR][RUSH_INT8_NR]) {                           \
    of(mr, groups, rows, w, sums);                                                \
  }

typedef struct rush_int8_kernel {
  rush_int8_form form;
  size_t mr;
  rush_int8_tile *one, *many; /* of 1 and of mr rows */
} rush_int8_kernel;

/* What this machine is best at. */
rush_int8_kernel rush_int8_kernel_here(void);

/* Of every machine: rows as WIDE, at most 4 of them. */
rush_int8_tile rush_int8_one_wide, rush_int8_many_wide;
/* For x86-64 (int8_avx2.c, int8_vnni.c): rows as WIDE and as UNSIGNED. */
rush_int8_tile rush_int8_one_avx2, rush_int8_many_avx2, rush_int8_one_vnni, rush_int8_many_vnni;

#endif
