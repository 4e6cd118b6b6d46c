#include "quantize/int4_group.h"

#include "ir/dtype.h"

namespace rush {

namespace {

constexpr float kMost = Int4Group::kMost;

float as_half(float x) {
  return from_half_bits(half_bits(x));
}

float error_of(const Int4Group &g, const GroupValues &v) {
  float sum = 0;
  for (size_t i = 0; i < v.n; i++) {
    const float off = v.x[i] - g.value_of(g.integer_of(v.x[i]));
    sum += v.importance[i] * off * off;
  }
  return sum;
}

// Sums over the values of a group, times their importance: s is the integer less the zero point.
struct Sums {
  double one = 0, s = 0, ss = 0, x = 0, sx = 0;
};

Sums sums_of(const Int4Group &g, const GroupValues &v) {
  Sums sums;
  for (size_t i = 0; i < v.n; i++) {
    const double s = g.integer_of(v.x[i]) - g.zero, weight = v.importance[i];
    sums.one += weight, sums.s += weight * s, sums.ss += weight * s * s;
    sums.x += weight * v.x[i], sums.sx += weight * s * v.x[i];
  }
  return sums;
}

// Returns the group with the same integers whose scale, and minimum, are best by least squares.
Int4Group refined(const Int4Group &g, const GroupValues &v, Bits::Offsets offsets) {
  const Sums sums = sums_of(g, v);
  Int4Group out = g;
  if (offsets == Bits::MINIMA) {
    const double determinant = sums.one * sums.ss - sums.s * sums.s;
    if (!(determinant > 1e-9 * sums.one * sums.ss)) return g;
    const double scale = (sums.one * sums.sx - sums.s * sums.x) / determinant;
    out.scale = as_half(static_cast<float>(scale));
    out.minimum = as_half(static_cast<float>((sums.x - out.scale * sums.s) / sums.one));
  } else if (sums.ss > 0) {
    out.scale = as_half(static_cast<float>(sums.sx / sums.ss));
  }
  return out;
}

// The least error among some groups.
class Best {
 public:
  Best(const GroupValues &v, Bits::Offsets offsets) : v_(v), offsets_(offsets) {}

  void try_group(const Int4Group &g) {
    keep(g);
    keep(refined(g, v_, offsets_));
  }
  const Int4Group &group() const { return group_; }

 private:
  void keep(const Int4Group &g) {
    if (!std::isfinite(g.scale) || !std::isfinite(g.minimum)) return;
    const float error = error_of(g, v_);
    if (error < error_) error_ = error, group_ = g;
  }

  const GroupValues &v_;
  const Bits::Offsets offsets_;
  Int4Group group_;
  float error_ = HUGE_VALF;
};

// The shares of a group's range that are tried. Values outside of the range are clipped.
constexpr float kShares[] = {1, 0.95f, 0.9f, 0.85f, 0.8f, 0.75f, 0.7f};

}  // namespace

Int4Group best_group(const GroupValues &v, Bits::Offsets offsets) {
  const auto [least, most] = std::minmax_element(v.x, v.x + v.n);
  Best best(v, offsets);
  for (const float share : kShares) {
    if (offsets == Bits::NO_OFFSETS) {
      const float largest = -*least > *most ? *least : *most;
      best.try_group({as_half(largest * share / -8), 8, 0});
      best.try_group({as_half(largest * share / 7), 8, 0});
    } else if (offsets == Bits::ZERO_POINTS) {
      const float low = std::min(*least, 0.f) * share, high = std::max(*most, 0.f) * share;
      const float scale = as_half((high - low) / kMost);
      const float zero = scale > 0 ? std::nearbyint(-low / scale) : 0;
      best.try_group({scale, std::min(std::max(zero, 0.f), kMost), 0});
    } else {
      const float range = *most - *least;
      best.try_group(
          {as_half(range * share / kMost), 0, as_half(*least + range * (1 - share) / 2)});
    }
  }
  return best.group();
}

}  // namespace rush
