#include "quantize/int4.h"

#include <algorithm>

#include "quantize/int4_group.h"
#include "quantize/parallel_for.h"

namespace rush {

namespace {

// Puts two integers into each byte. A row with an odd number ends with 0.
void put(uint8_t *row, size_t column, float integer) {
  row[column / 2] = static_cast<uint8_t>(row[column / 2] |
                                         (static_cast<unsigned>(integer) << (column % 2 ? 4 : 0)));
}

// A row that is being quantized: its weights, and the errors of the integers so far.
struct Row {
  size_t index;
  std::vector<float> weights;
  std::vector<double> errors;
};

// Quantizes rows of a weight into the parts of an Int4.
class Rows {
 public:
  Rows(const Tensor &weight, const Bits &bits, const ErrorFeedback &feedback)
      : weight_(weight),
        bits_(bits),
        feedback_(feedback),
        k_(static_cast<size_t>(weight.size(1))),
        groups_((k_ + static_cast<size_t>(bits.group) - 1) / static_cast<size_t>(bits.group)),
        importance_(feedback.importance().empty() ? std::vector<float>(k_, 1)
                                                  : feedback.importance()),
        integers_(Tensor::zeros(RUSH_UINT8, {weight.size(0), static_cast<int64_t>((k_ + 1) / 2)})),
        scales_(rows() * groups_),
        offsets_(rows() * groups_),
        errors_(rows()) {}

  size_t blocks() const { return (rows() + kBlock - 1) / kBlock; }

  // Quantizes a block of rows, which read the same columns of the feedback together. Blocks do not
  // depend on each other, so that threads may share them.
  void quantize(size_t block) {
    std::vector<Row> rows_of;
    for (size_t i = block * kBlock; i < std::min((block + 1) * kBlock, rows()); i++)
      rows_of.push_back(
          {i, weight_.select(0, static_cast<int64_t>(i)).floats(), std::vector<double>(k_)});
    for (size_t group = 0; group < groups_; group++)
      for (Row &row : rows_of) quantize(&row, group);
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
  static constexpr size_t kBlock = 16;

  size_t rows() const { return static_cast<size_t>(weight_.size(0)); }

  void quantize(Row *row, size_t group) {
    const auto size = static_cast<size_t>(bits_.group);
    const size_t from = group * size, end = std::min(from + size, k_);
    std::vector<double> moved(size);  // where the errors of earlier groups move the weights
    for (size_t j = from; j < end; j++)
      moved[j - from] = row->weights[j] + feedback_.of(row->errors.data(), 0, from, j);
    const Int4Group g = best_group_of(*row, from, moved, end - from);
    uint8_t *to = static_cast<uint8_t *>(integers_.storage()->data) + row->index * ((k_ + 1) / 2);
    for (size_t j = from; j < end; j++) {
      const double wanted = moved[j - from] + feedback_.of(row->errors.data() + from, from, j, j);
      const float integer = g.integer_of(static_cast<float>(wanted)), value = g.value_of(integer);
      put(to, j, integer);
      row->errors[j] = static_cast<double>(row->weights[j]) - value;
      errors_[row->index].add(row->weights[j], value);
    }
    scales_[row->index * groups_ + group] = g.scale;
    offsets_[row->index * groups_ + group] = bits_.offsets == Bits::MINIMA ? g.minimum : g.zero;
  }

  // Chooses the group for the weights that would result if each column were rounded exactly to the
  // value to which the feedback moves it.
  Int4Group best_group_of(const Row &row, size_t from, const std::vector<double> &moved,
                          size_t n) const {
    std::vector<double> errors(n);
    std::vector<float> x(n);
    for (size_t i = 0; i < n; i++) {
      const double wanted = moved[i] + feedback_.of(errors.data(), from, from + i, from + i);
      errors[i] = row.weights[from + i] - wanted;
      x[i] = static_cast<float>(wanted);
    }
    return best_group({x.data(), importance_.data() + from, n}, bits_.offsets);
  }

  const Tensor &weight_;
  const Bits &bits_;
  const ErrorFeedback &feedback_;
  const size_t k_, groups_;
  const std::vector<float> importance_;
  Tensor integers_;
  std::vector<float> scales_, offsets_;
  std::vector<WeightError> errors_;
};

}  // namespace

Int4 int4_of(const Tensor &weight, const Bits &bits, const ErrorFeedback &feedback) {
  Rows rows(weight, bits, feedback);
  parallel_for(rows.blocks(), [&](size_t block) { rows.quantize(block); });
  return rows.parts();
}

}  // namespace rush
