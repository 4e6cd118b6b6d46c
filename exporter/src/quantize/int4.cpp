#include "quantize/int4.h"

#include <algorithm>
#include <cmath>

#include "quantize/on_threads.h"

namespace rush {

namespace {

constexpr float kMost = 15;

// What an integer of a group means: (integer - zero) * scale + minimum.
struct Group {
  float scale = 0, zero = 0, minimum = 0;
};

float as_half(float x) {
  return from_half_bits(half_bits(x));
}

// The values of a group, and the importance of each.
struct Values {
  const float *x, *importance;
  size_t n;
};

// Returns the integer that represents x. `divisor` is the scale, or infinite if the scale is 0.
inline float integer_of(const Group &g, float divisor, float x) {
  constexpr float kRound = 12582912;  // 1.5 * 2^23: its sum with a small number is a whole number
  const float steps = std::min(std::max((x - g.minimum) / divisor, -2 * kMost), 2 * kMost);
  return std::min(std::max((steps + kRound) - kRound + g.zero, 0.f), kMost);
}

float divisor_of(const Group &g) {
  return g.scale != 0 ? g.scale : HUGE_VALF;
}

inline float value_of(const Group &g, float integer) {
  return (integer - g.zero) * g.scale + g.minimum;
}

float error_of(const Group &g, const Values &v) {
  const float divisor = divisor_of(g);
  float sum = 0;
  for (size_t i = 0; i < v.n; i++) {
    const float off = v.x[i] - value_of(g, integer_of(g, divisor, v.x[i]));
    sum += v.importance[i] * off * off;
  }
  return sum;
}

// Sums over the values of a group, times their importance: s is the integer less the zero point.
struct Sums {
  double one = 0, s = 0, ss = 0, x = 0, sx = 0;
};

Sums sums_of(const Group &g, const Values &v) {
  const float divisor = divisor_of(g);
  Sums sums;
  for (size_t i = 0; i < v.n; i++) {
    const double s = integer_of(g, divisor, v.x[i]) - g.zero, weight = v.importance[i];
    sums.one += weight, sums.s += weight * s, sums.ss += weight * s * s;
    sums.x += weight * v.x[i], sums.sx += weight * s * v.x[i];
  }
  return sums;
}

// Returns the group with the same integers whose scale, and minimum, are best by least squares.
Group refined(const Group &g, const Values &v, Bits::Offsets offsets) {
  const Sums sums = sums_of(g, v);
  Group out = g;
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
  Best(const Values &v, Bits::Offsets offsets) : v_(v), offsets_(offsets) {}

  void try_group(const Group &g) {
    keep(g);
    keep(refined(g, v_, offsets_));
  }
  const Group &group() const { return group_; }

 private:
  void keep(const Group &g) {
    if (!std::isfinite(g.scale) || !std::isfinite(g.minimum)) return;
    const float error = error_of(g, v_);
    if (error < error_) error_ = error, group_ = g;
  }

  const Values &v_;
  const Bits::Offsets offsets_;
  Group group_;
  float error_ = HUGE_VALF;
};

// The shares of a group's range that are tried. Values outside of the range are clipped.
constexpr float kShares[] = {1, 0.95f, 0.9f, 0.85f, 0.8f, 0.75f, 0.7f};

Group search(const Values &v, Bits::Offsets offsets) {
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

// Puts two integers into each byte. A row with an odd number ends with 0.
void put(uint8_t *row, size_t column, float integer) {
  row[column / 2] = static_cast<uint8_t>(row[column / 2] |
                                         (static_cast<unsigned>(integer) << (column % 2 ? 4 : 0)));
}

// Quantizes rows of a weight into the parts of an Int4.
class Rows {
 public:
  Rows(const Tensor &weight, const Bits &bits, const std::vector<float> &importance)
      : weight_(weight),
        bits_(bits),
        k_(static_cast<size_t>(weight.size(1))),
        groups_((k_ + static_cast<size_t>(bits.group) - 1) / static_cast<size_t>(bits.group)),
        importance_(importance.empty() ? std::vector<float>(k_, 1) : importance),
        integers_(Tensor::zeros(RUSH_UINT8, {weight.size(0), static_cast<int64_t>((k_ + 1) / 2)})),
        scales_(rows() * groups_),
        offsets_(rows() * groups_),
        errors_(rows()) {}

  size_t rows() const { return static_cast<size_t>(weight_.size(0)); }

  // Rows do not depend on each other, so that threads may share them.
  void quantize(size_t i) {
    uint8_t *to = static_cast<uint8_t *>(integers_.storage()->data) + i * ((k_ + 1) / 2);
    const std::vector<float> row = weight_.select(0, static_cast<int64_t>(i)).floats();
    const auto size = static_cast<size_t>(bits_.group);
    for (size_t from = 0, at = i * groups_; from < k_; from += size, at++) {
      const size_t end = std::min(from + size, k_);
      const Group g =
          search({row.data() + from, importance_.data() + from, end - from}, bits_.offsets);
      for (size_t j = from; j < end; j++) {
        const float integer = integer_of(g, divisor_of(g), row[j]);
        put(to, j, integer);
        errors_[i].add(row[j], value_of(g, integer));
      }
      scales_[at] = g.scale;
      offsets_[at] = bits_.offsets == Bits::MINIMA ? g.minimum : g.zero;
    }
  }

  Int4 parts() const {
    const std::vector<int64_t> sizes{weight_.size(0), static_cast<int64_t>(groups_)};
    Int4 out;
    out.integers = integers_;
    out.scales = Tensor::of(RUSH_FLOAT16, sizes, scales_);
    if (bits_.offsets != Bits::NO_OFFSETS)
      out.offsets =
          Tensor::of(bits_.offsets == Bits::MINIMA ? RUSH_FLOAT16 : RUSH_UINT8, sizes, offsets_);
    for (const WeightError &error : errors_) out.error.add(error);
    return out;
  }

 private:
  const Tensor &weight_;
  const Bits &bits_;
  const size_t k_, groups_;
  const std::vector<float> importance_;
  Tensor integers_;
  std::vector<float> scales_, offsets_;
  std::vector<WeightError> errors_;
};

}  // namespace

Int4 int4_of(const Tensor &weight, const Bits &bits, const std::vector<float> &importance) {
  Rows rows(weight, bits, importance);
  on_threads(rows.rows(), [&](size_t i) { rows.quantize(i); });
  return rows.parts();
}

}  // namespace rush
