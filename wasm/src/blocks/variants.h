/* What rows with one function differ in, besides their dimensions: RUSH_OP_KIND of their flags. */
#ifndef RUSH_VARIANTS_H
#define RUSH_VARIANTS_H

/* Padding. */
enum { RUSH_PAD_CONSTANT, RUSH_PAD_REFLECT, RUSH_PAD_REPLICATE, RUSH_PAD_CIRCULAR };

/* Resampling; smooth: with anti-aliasing. */
enum {
  RUSH_SAMPLE_NEAREST,
  RUSH_SAMPLE_NEAREST_EXACT,
  RUSH_SAMPLE_LINEAR,
  RUSH_SAMPLE_CUBIC,
  RUSH_SAMPLE_SMOOTH = 8,
};

/* Regions of interest; by place: each bin reads a channel of its own. */
enum { RUSH_ROI_ALL, RUSH_ROI_BY_PLACE };

#endif
