/* Values of RUSH_OP_KIND in the flags of rows that share a function. */
#ifndef RUSH_VARIANTS_H
#define RUSH_VARIANTS_H

/* Padding modes. */
enum { RUSH_PAD_CONSTANT, RUSH_PAD_REFLECT, RUSH_PAD_REPLICATE, RUSH_PAD_CIRCULAR };

/* Interpolation modes. RUSH_SAMPLE_SMOOTH: antialiased. */
enum {
  RUSH_SAMPLE_NEAREST,
  RUSH_SAMPLE_NEAREST_EXACT,
  RUSH_SAMPLE_LINEAR,
  RUSH_SAMPLE_CUBIC,
  RUSH_SAMPLE_SMOOTH = 8,
};

/* Pooling of regions of interest. BY_PLACE: each bin reads its own channel (ps_roi_align,
 * ps_roi_pool). */
enum { RUSH_ROI_ALL, RUSH_ROI_BY_PLACE };

#endif
