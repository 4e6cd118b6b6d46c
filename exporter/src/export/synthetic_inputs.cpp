#include "export/synthetic_inputs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "run/compare.h"

namespace rush {

namespace {

// The largest size of synthetic values that the file must hold.
constexpr size_t kLargestHeld = size_t{1} << 20;

// ---- Layout ------------------------------------------------------------------------------------

// Strides for these sizes with the order and the gaps of a tensor's strides.
std::vector<int64_t> strides_like(const at::Tensor &t, const std::vector<int64_t> &sizes) {
  if (t.sizes() == sizes) return t.strides().vec();
  std::vector<int64_t> order(sizes.size()), out(sizes.size(), 0);
  std::iota(order.rbegin(), order.rend(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return t.stride(a) < t.stride(b); });
  int64_t room = 1, before = 1;  // elements of the inner dimensions, here and in the tensor
  for (const int64_t d : order) {
    if (t.stride(d) == 0) continue;
    out[d] = std::max(room, (room * t.stride(d) + before - 1) / before);
    room = out[d] * std::max<int64_t>(sizes[d], 1);
    before = t.stride(d) * std::max<int64_t>(t.size(d), 1);
  }
  return out;
}

// Whether two elements of a tensor with these strides share memory.
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

// The values with strides and offset like those of a tensor. Elements that an expanded tensor shares
// have one value. The layout of tensors that overlap differently, as windows do, is not kept.
at::Tensor laid_out(at::Tensor values, const at::Tensor &t) {
  const std::vector<int64_t> sizes = values.sizes().vec(), strides = strides_like(t, sizes);
  for (int64_t d = 0; d < values.dim(); d++)
    if (strides[d] == 0 && sizes[d] > 1) values = values.narrow(d, 0, 1);
  if (overlaps(values.sizes().vec(), strides)) return values.expand(sizes).contiguous();
  int64_t extent = t.storage_offset() + 1;
  for (int64_t d = 0; d < values.dim(); d++)
    extent += std::max<int64_t>(values.size(d) - 1, 0) * strides[d];
  const at::Tensor memory = at::zeros({extent}, values.options());
  memory.as_strided(values.sizes(), strides, t.storage_offset()).copy_(values);
  return memory.as_strided(sizes, strides, t.storage_offset());
}

// ---- Values ------------------------------------------------------------------------------------

// Repeats a tensor's values to fill other sizes.
at::Tensor resized(at::Tensor t, const std::vector<int64_t> &sizes) {
  if (t.numel() == 0) return t.new_zeros(sizes);
  for (int64_t d = 0; d < t.dim(); d++) {
    const int64_t n = t.size(d);
    if (sizes[d] == n) continue;
    std::vector<int64_t> times(sizes.size(), 1);
    times[d] = (sizes[d] + n - 1) / n;
    t = t.repeat(times);
    t = t.narrow(d, t.size(d) - sizes[d], sizes[d]);
  }
  return t.contiguous();
}

// Whether each row along the last dimension has Trues, then Falses, or all rows have the reverse
// order.
bool is_padding(const at::Tensor &t) {
  if (t.scalar_type() != at::kBool || t.dim() == 0 || t.numel() < 2 || t.size(-1) < 2) return false;
  const at::Tensor first = t.select(-1, 0);
  if (!first.eq(first.reshape({-1})[0]).all().item<bool>()) return false;
  const at::Tensor differ = t.ne(first.unsqueeze(-1)).to(at::kInt);
  return differ.any().item<bool>() && differ.diff(1, -1).ge(0).all().item<bool>();
}

// Makes such rows with random lengths.
at::Tensor padding_like(const at::Tensor &t, const std::vector<int64_t> &sizes, uint64_t seed) {
  const int64_t n = sizes.back();
  std::vector<int64_t> rows = sizes;
  rows.back() = 1;
  const at::Tensor lengths =
      random_constant(at::kLong, rows, seed, 1, static_cast<double>(n) + 1).tensor;
  const at::Tensor inside = at::arange(n).lt(lengths);
  return t.reshape({-1})[0].item<bool>() ? inside : inside.logical_not();
}

// The sizes of the next tensor, with the new ones.
std::vector<int64_t> next_sizes(const at::Tensor &t, const NewSizes &new_sizes, size_t *leaf) {
  std::vector<int64_t> sizes = t.sizes().vec();
  for (const NewSize &g : new_sizes)
    if (g.leaf == *leaf) sizes.at(static_cast<size_t>(g.dim)) = g.size;
  ++*leaf;
  return sizes;
}

// Random values in an example's range.
Const random_like(const Const &value, const std::vector<int64_t> &sizes, uint64_t seed) {
  const at::Tensor &t = value.tensor;
  const at::ScalarType dtype = t.scalar_type();
  if (value.kind == RUSH_CONST_RANDOM)
    return random_constant(dtype, sizes, seed, value.f, value.im);
  double lo = 0, hi = 0;
  if (t.numel() > 0 && dtype != at::kBool) {
    lo = t.min().item<double>();
    hi = t.max().item<double>();
  }
  if (!at::isFloatingType(dtype) && dtype != at::kBool) hi += 1;
  if (!std::isfinite(lo) || !std::isfinite(hi)) lo = -1, hi = 1;
  return random_constant(dtype, sizes, seed, lo, hi);
}

Const tensor_like(const Const &value, uint64_t *seed, const NewSizes &new_sizes, size_t *leaf) {
  const at::Tensor &t = value.tensor;
  const std::vector<int64_t> sizes = next_sizes(t, new_sizes, leaf);
  if (t.is_quantized() || t.layout() != at::kStrided) return value;
  if (t.is_complex())  // there is no such random constant: the same numbers in other places
    return const_tensor(resized(t, sizes).roll(1));
  if (value.kind != RUSH_CONST_RANDOM && is_padding(t))
    return const_tensor(padding_like(t, sizes, (*seed)++));
  Const out = random_like(value, sizes, (*seed)++);
  if ((t.is_contiguous() && t.storage_offset() == 0) || out.tensor.nbytes() > kLargestHeld)
    return out;
  return const_tensor(laid_out(out.tensor, t));
}

Const like(const Const &value, uint64_t *seed, const NewSizes &new_sizes, size_t *leaf) {
  if (value.tensor.defined()) return tensor_like(value, seed, new_sizes, leaf);
  Const out = value;
  for (Const &item : out.items) item = like(item, seed, new_sizes, leaf);
  return out;
}

// ---- Caches ------------------------------------------------------------------------------------

std::vector<at::Tensor> tensors_in(const Const &value) {
  std::vector<at::Tensor> out;
  each_given(value, [&](const at::Tensor &t) { out.push_back(t); });
  return out;
}

// Whether two values have the same structure of floating-point tensors, whose sizes differ in at most one
// dimension, by the same amount. A single tensor must have grown, as it does by concatenation.
bool is_cache(const Const &given, const Const &returned) {
  const std::vector<at::Tensor> a = tensors_in(given), b = tensors_in(returned);
  if (a.empty() || a.size() != b.size() || given.items.size() != returned.items.size())
    return false;
  int64_t grown = -1;
  for (size_t i = 0; i < a.size(); i++) {
    if (!a[i].is_floating_point() || a[i].scalar_type() != b[i].scalar_type() ||
        a[i].dim() != b[i].dim())
      return false;
    for (int64_t d = 0; d < a[i].dim(); d++) {
      if (a[i].size(d) == b[i].size(d)) continue;
      if ((grown >= 0 && grown != d) || b[i].size(d) < a[i].size(d)) return false;
      grown = d;
    }
  }
  return grown >= 0 || !given.items.empty();
}

// The part of an answer with the structure of an argument; nullptr if there is none.
const Const *cache_in(const Const &answer, const Const &given) {
  if (is_cache(given, answer)) return &answer;
  for (const Const &item : answer.items)
    if (const Const *found = cache_in(item, given)) return found;
  return nullptr;
}

Const filled(const Const &given, const std::vector<at::Tensor> &from, const NewSizes &new_sizes,
             size_t *leaf) {
  if (given.tensor.defined()) {
    const at::Tensor &t = from.at(*leaf);
    return const_tensor(resized(t, next_sizes(given.tensor, new_sizes, leaf)));
  }
  Const out = given;
  for (Const &item : out.items) item = filled(item, from, new_sizes, leaf);
  return out;
}

size_t bytes_in(const Const &value) {
  size_t n = 0;
  each_given(value, [&](const at::Tensor &t) { n += t.nbytes(); });
  return n;
}

// ---- Integers ----------------------------------------------------------------------------------

// Bytes are pictures, not indices of rows or groups.
bool is_integers(const at::Tensor &t) {
  const at::ScalarType dtype = t.scalar_type();
  return (dtype == at::kLong || dtype == at::kInt || dtype == at::kShort) &&
         t.layout() == at::kStrided && t.numel() > 0;
}

// Sorted rows stay sorted, as indices of groups are.
at::Tensor other_integers(const at::Tensor &t, int64_t lo, int64_t most, uint64_t seed) {
  at::Tensor out = random_constant(t.scalar_type(), t.sizes().vec(), seed, static_cast<double>(lo),
                                   static_cast<double>(most) + 1)
                       .tensor;
  if (t.dim() > 0 && t.diff(1, -1).ge(0).all().item<bool>()) out = std::get<0>(out.sort(-1));
  out.view({-1})[-1] = most;
  return out;
}

int64_t distinct(const at::Tensor &t) {
  return std::get<0>(at::_unique(t)).numel();
}

// The number of attempts to draw integers with another number of distinct values.
constexpr int kDraws = 8;

Const with_other_integers(const Const &value, bool above, uint64_t *seed, bool *any) {
  Const out = value;
  for (Const &item : out.items) item = with_other_integers(item, above, seed, any);
  if (!value.tensor.defined() || !is_integers(value.tensor)) return out;
  const at::Tensor &t = value.tensor;
  const int64_t lo = t.min().item<int64_t>(), hi = t.max().item<int64_t>();
  if (!above && lo == hi) return out;
  *any = true;
  for (int i = 0; i < kDraws; i++) {
    out = const_tensor(other_integers(t, lo, above ? hi + 1 : hi - 1, (*seed)++));
    if (distinct(out.tensor) != distinct(t)) break;
  }
  return out;
}

}  // namespace

Const like(const Const &value, uint64_t *seed, const NewSizes &new_sizes) {
  size_t leaf = 0;
  return like(value, seed, new_sizes, &leaf);
}

std::vector<Const> all_like(const Example &e, uint64_t *seed,
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
