#include "export/synthetic_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

#include "run/compare.h"

namespace rush {

namespace {

// The largest size of synthetic values that the file must hold.
constexpr size_t kLargestHeld = size_t{1} << 20;

// ---- Layout ------------------------------------------------------------------------------------

// Strides for these sizes with the order and the gaps of a tensor's strides.
std::vector<int64_t> strides_like(const Tensor &t, const std::vector<int64_t> &sizes) {
  if (t.sizes() == sizes) return t.strides();
  const Sizes &strides = t.strides();
  std::vector<size_t> order(sizes.size());
  Sizes out(sizes.size(), 0);
  std::iota(order.rbegin(), order.rend(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  int64_t room = 1, before = 1;  // elements of the inner dimensions, here and in the tensor
  for (const size_t d : order) {
    if (strides[d] == 0) continue;
    out[d] = std::max(room, (room * strides[d] + before - 1) / before);
    room = out[d] * std::max<int64_t>(sizes[d], 1);
    before = strides[d] * std::max<int64_t>(t.sizes()[d], 1);
  }
  return out;
}

// Returns whether two elements of a tensor with these strides share memory.
bool overlaps(const std::vector<int64_t> &sizes, const std::vector<int64_t> &strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t d = 0; d < sizes.size(); d++)
    if (sizes[d] > 1) dims.emplace_back(strides[d], sizes[d]);
  std::sort(dims.begin(), dims.end());
  int64_t extent = 1;
  for (const auto &[stride, size] : dims) {
    if (stride < extent) return true;
    extent = stride * (size - 1) + extent;
  }
  return false;
}

// Returns the values with strides and offset like those of a tensor. Elements that an expanded tensor
// shares have one value. The layout of tensors that overlap differently, as windows do, is not kept.
Tensor with_strides_of(Tensor values, const Tensor &t) {
  const Sizes sizes = values.sizes(), strides = strides_like(t, sizes);
  for (int64_t d = 0; d < values.dim(); d++) {
    const auto at = static_cast<size_t>(d);
    if (strides[at] == 0 && sizes[at] > 1) values = values.narrow(d, 0, 1);
  }
  if (overlaps(values.sizes(), strides)) return values.expand(sizes).clone();
  int64_t extent = t.storage_offset() + 1;
  for (size_t d = 0; d < sizes.size(); d++)
    extent += std::max<int64_t>(values.sizes()[d] - 1, 0) * strides[d];
  const Tensor memory = Tensor::zeros(values.dtype(), {extent});
  Tensor(values.dtype(), values.sizes(), strides, t.storage_offset(), memory.storage())
      .fill_from(values);
  return {values.dtype(), sizes, strides, t.storage_offset(), memory.storage()};
}

// ---- Values ------------------------------------------------------------------------------------

// The index in a row-major tensor of other sizes of each element, where values repeat: new sizes begin
// with as many of the last values as fit.
class RepeatedIndex {
 public:
  RepeatedIndex(const Sizes &from, const Sizes &to) : from_(from), to_(to) {}

  size_t index_of(size_t at) const {
    size_t out = 0, step = 1;
    for (size_t d = to_.size(); d-- > 0;) {
      const auto size = static_cast<size_t>(to_[d]), had = static_cast<size_t>(from_[d]);
      const size_t skipped = (had - size % had) % had;
      out += (at % size + skipped) % had * step;
      at /= size;
      step *= had;
    }
    return out;
  }

 private:
  const Sizes &from_, &to_;
};

// The elements of a tensor in another order: element i of the result is element f(i).
template <class F>
Tensor gathered(const Tensor &t, const Sizes &sizes, F f) {
  const Tensor from = t.contiguous(), out = Tensor::zeros(t.dtype(), sizes);
  const size_t item = t.itemsize(), n = static_cast<size_t>(out.numel());
  char *to = static_cast<char *>(out.storage()->data);
  for (size_t i = 0; i < n; i++) std::memcpy(to + i * item, from.bytes() + f(i) * item, item);
  return out;
}

// Repeats a tensor's values to fill other sizes.
Tensor resized(const Tensor &t, const Sizes &sizes) {
  if (t.numel() == 0) return Tensor::zeros(t.dtype(), sizes);
  const RepeatedIndex repeated(t.sizes(), sizes);
  return gathered(t, sizes, [&](size_t i) { return repeated.index_of(i); });
}

// Returns the same values, each one place later; the last one is first.
Tensor rolled(const Tensor &t) {
  const auto n = static_cast<size_t>(t.numel());
  return gathered(t, t.sizes(), [n](size_t i) { return (i + n - 1) % n; });
}

// Returns whether each row along the last dimension has Trues, then Falses, or all rows have the reverse
// order.
bool is_padding(const Tensor &t) {
  if (t.dtype() != RUSH_BOOL || t.dim() == 0 || t.numel() < 2 || t.size(-1) < 2) return false;
  const std::vector<int64_t> values = t.ints();
  const auto n = static_cast<size_t>(t.size(-1));
  bool any = false;
  for (size_t i = 0; i < values.size(); i++) {
    const bool starts = i % n == 0, differs = values[i] != values[0];
    if (starts ? differs : !differs && values[i - 1] != values[0]) return false;
    any |= differs;
  }
  return any;
}

// Makes such rows with random lengths.
Tensor padding_like(const Tensor &t, const Sizes &sizes, uint64_t seed) {
  const int64_t n = sizes.back();
  Sizes rows = sizes;
  rows.back() = 1;
  const std::vector<int64_t> lengths =
      random_constant(RUSH_INT64, rows, seed, 1, static_cast<double>(n) + 1).tensor.ints();
  const bool first = t.ints()[0] != 0;
  std::vector<int64_t> values;
  for (const int64_t length : lengths)
    for (int64_t i = 0; i < n; i++) values.push_back((i < length) == first);
  return Tensor::of(RUSH_BOOL, sizes, values);
}

// Returns the sizes of the next tensor, with the new ones.
Sizes next_sizes(const Tensor &t, const NewSizes &new_sizes, size_t *leaf) {
  Sizes sizes = t.sizes();
  for (const NewSize &g : new_sizes)
    if (g.leaf == *leaf) sizes.at(static_cast<size_t>(g.dim)) = g.size;
  ++*leaf;
  return sizes;
}

// Random values in an example's range.
Const random_like(const Const &value, const std::vector<int64_t> &sizes, uint64_t seed) {
  const Tensor &t = value.tensor;
  const rush_dtype dtype = t.dtype();
  if (value.kind == RUSH_CONST_RANDOM)
    return random_constant(dtype, sizes, seed, value.f, value.im);
  double lo = 0, hi = 0;
  if (t.numel() > 0 && dtype != RUSH_BOOL) {
    const std::vector<double> values = t.doubles();
    lo = *std::min_element(values.begin(), values.end());
    hi = *std::max_element(values.begin(), values.end());
  }
  if (!is_floating_point(dtype) && dtype != RUSH_BOOL) hi += 1;
  if (!t.all_finite()) lo = -1, hi = 1;
  return random_constant(dtype, sizes, seed, lo, hi);
}

Const tensor_like(const Const &value, uint64_t *seed, const NewSizes &new_sizes, size_t *leaf) {
  const Tensor &t = value.tensor;
  const Sizes sizes = next_sizes(t, new_sizes, leaf);
  if (!t.is_strided()) return value;
  if (t.is_complex())  // there is no such random constant: the same numbers in other places
    return const_tensor(rolled(resized(t, sizes)));
  if (value.kind != RUSH_CONST_RANDOM && is_padding(t))
    return const_tensor(padding_like(t, sizes, (*seed)++));
  Const out = random_like(value, sizes, (*seed)++);
  if ((t.is_contiguous() && t.storage_offset() == 0) || out.tensor.nbytes() > kLargestHeld)
    return out;
  return const_tensor(with_strides_of(out.tensor, t));
}

Const like(const Const &value, uint64_t *seed, const NewSizes &new_sizes, size_t *leaf) {
  if (value.tensor.defined()) return tensor_like(value, seed, new_sizes, leaf);
  Const out = value;
  for (Const &item : out.items) item = like(item, seed, new_sizes, leaf);
  return out;
}

// ---- Caches ------------------------------------------------------------------------------------

std::vector<Tensor> tensors_in(const Const &value) {
  std::vector<Tensor> out;
  each_tensor_inside(value, [&](const Tensor &t) { out.push_back(t); });
  return out;
}

// Returns whether two values have the same structure of floating-point tensors, whose sizes differ in at most one
// dimension, by the same amount. A single tensor must have grown, as it does by concatenation.
bool is_cache(const Const &given, const Const &returned) {
  const std::vector<Tensor> a = tensors_in(given), b = tensors_in(returned);
  if (a.empty() || a.size() != b.size() || given.items.size() != returned.items.size())
    return false;
  int64_t grown = -1;
  for (size_t i = 0; i < a.size(); i++) {
    if (!a[i].is_floating_point() || a[i].dtype() != b[i].dtype() || a[i].dim() != b[i].dim())
      return false;
    for (int64_t d = 0; d < a[i].dim(); d++) {
      if (a[i].size(d) == b[i].size(d)) continue;
      if ((grown >= 0 && grown != d) || b[i].size(d) < a[i].size(d)) return false;
      grown = d;
    }
  }
  return grown >= 0 || !given.items.empty();
}

// Returns the part of an answer with the structure of an argument, or nullptr if there is none.
const Const *cache_in(const Const &answer, const Const &given) {
  if (is_cache(given, answer)) return &answer;
  for (const Const &item : answer.items)
    if (const Const *found = cache_in(item, given)) return found;
  return nullptr;
}

Const filled(const Const &given, const std::vector<Tensor> &from, const NewSizes &new_sizes,
             size_t *leaf) {
  if (given.tensor.defined()) {
    const Tensor &t = from.at(*leaf);
    return const_tensor(resized(t, next_sizes(given.tensor, new_sizes, leaf)));
  }
  Const out = given;
  for (Const &item : out.items) item = filled(item, from, new_sizes, leaf);
  return out;
}

size_t bytes_in(const Const &value) {
  size_t n = 0;
  each_tensor_inside(value, [&](const Tensor &t) { n += t.nbytes(); });
  return n;
}

// ---- Integers ----------------------------------------------------------------------------------

// Bytes are pictures, not indices of rows or groups.
bool is_integers(const Tensor &t) {
  const rush_dtype dtype = t.dtype();
  return (dtype == RUSH_INT64 || dtype == RUSH_INT32 || dtype == RUSH_INT16) && t.is_strided() &&
         t.numel() > 0;
}

// Calls f with the begin and the end of each row along the last dimension.
template <class F>
void each_row(std::vector<int64_t> *values, const Tensor &t, F f) {
  const std::ptrdiff_t n = t.dim() > 0 ? t.size(-1) : 1;
  for (auto at = values->begin(); at != values->end(); at += n) f(at, at + n);
}

// Sorted rows stay sorted, as indices of groups are.
Tensor other_integers(const Tensor &t, int64_t lo, int64_t most, uint64_t seed) {
  std::vector<int64_t> given = t.ints();
  std::vector<int64_t> out = random_constant(t.dtype(), t.sizes(), seed, static_cast<double>(lo),
                                             static_cast<double>(most) + 1)
                                 .tensor.ints();
  bool sorted = t.dim() > 0;
  each_row(&given, t, [&](auto from, auto to) { sorted &= std::is_sorted(from, to); });
  if (sorted) each_row(&out, t, [](auto from, auto to) { std::sort(from, to); });
  out.back() = most;
  return Tensor::of(t.dtype(), t.sizes(), out);
}

size_t distinct_count(const Tensor &t) {
  const std::vector<int64_t> values = t.ints();
  return std::set<int64_t>(values.begin(), values.end()).size();
}

// The number of attempts to draw integers with another number of distinct values.
constexpr int kDraws = 8;

Const with_other_integers(const Const &value, bool above, uint64_t *seed, bool *any) {
  Const out = value;
  for (Const &item : out.items) item = with_other_integers(item, above, seed, any);
  if (!value.tensor.defined() || !is_integers(value.tensor)) return out;
  const Tensor &t = value.tensor;
  const std::vector<int64_t> values = t.ints();
  const int64_t lo = *std::min_element(values.begin(), values.end());
  const int64_t hi = *std::max_element(values.begin(), values.end());
  if (!above && lo == hi) return out;
  *any = true;
  for (int i = 0; i < kDraws; i++) {
    out = const_tensor(other_integers(t, lo, above ? hi + 1 : hi - 1, (*seed)++));
    if (distinct_count(out.tensor) != distinct_count(t)) break;
  }
  return out;
}

}  // namespace

Const like(const Const &value, uint64_t *seed, const NewSizes &new_sizes) {
  size_t leaf = 0;
  return like(value, seed, new_sizes, &leaf);
}

std::vector<Const> arguments_like(const Example &e, uint64_t *seed,
                                  const std::vector<NewSizes> &new_sizes) {
  std::vector<Const> out;
  for (const Const &arg : e.args) {
    const NewSizes to = out.size() < new_sizes.size() ? new_sizes[out.size()] : NewSizes();
    const Const *cache = e.expected ? cache_in(*e.expected, arg) : nullptr;
    if (cache && bytes_in(arg) <= kLargestHeld) {
      size_t leaf = 0;
      out.push_back(filled(arg, tensors_in(*cache), to, &leaf));
    } else {
      out.push_back(like(arg, seed, to));
    }
  }
  return out;
}

std::vector<Const> with_other_integers(const std::vector<Const> &args, bool above, uint64_t *seed) {
  std::vector<Const> out;
  bool any = false;
  for (const Const &arg : args) out.push_back(with_other_integers(arg, above, seed, &any));
  return any ? out : std::vector<Const>();
}

}  // namespace rush
