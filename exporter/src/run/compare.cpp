#include "run/compare.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isclose.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/max.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace rush {

namespace {

std::string shape_text(const at::Tensor &t) {
  std::string out = std::string(dtype_name(t.scalar_type())) + "[";
  for (int64_t d = 0; d < t.dim(); d++) out += (d ? ", " : "") + std::to_string(t.size(d));
  return out + "]";
}

const char *kind_text(rush_const_kind kind) {
  static const char *const names[] = {"None",    "a tensor",  "an int",   "a float",
                                      "a bool",  "a complex", "a str",    "a list",
                                      "a tuple", "a dict",    "a device", "a tensor"};
  return names[kind];
}

class Comparison {
 public:
  Comparison(double rtol, double atol) : rtol_(rtol), atol_(atol) {}
  Difference result;

  void values(const Const &got, const Const &want, const std::string &name) {
    const bool tensors = got.tensor.defined() && want.tensor.defined();
    if (!tensors && got.kind != want.kind)
      return differ(name, std::string(kind_text(got.kind)) + " instead of " + kind_text(want.kind));
    if (tensors) return tensor(got.tensor, want.tensor, name);
    switch (got.kind) {
      case RUSH_CONST_FLOAT:
        return number(got.f, want.f, name);
      case RUSH_CONST_COMPLEX:
        number(got.f, want.f, name);
        return number(got.im, want.im, name);
      case RUSH_CONST_LIST:
      case RUSH_CONST_TUPLE:
      case RUSH_CONST_DICT:
        return items(got, want, name);
      default:
        if (got.i != want.i || got.s != want.s)
          differ(name, to_string(got) + " instead of " + to_string(want));
    }
  }

 private:
  void differ(const std::string &name, const std::string &how) {
    if (!result.ok) return;
    result.ok = false;
    result.where = name + ": " + how;
  }

  void measure(double abs, double rel) {
    result.max_abs = std::max(result.max_abs, abs);
    result.max_rel = std::max(result.max_rel, rel);
  }

  void number(double got, double want, const std::string &name) {
    if (std::isfinite(got) && std::isfinite(want))
      measure(std::fabs(got - want), want != 0 ? std::fabs((got - want) / want) : 0);
    const bool close = got == want || (std::isnan(got) && std::isnan(want)) ||
                       std::fabs(got - want) <= atol_ + rtol_ * std::fabs(want);
    if (!close)
      differ(name, to_string(const_float(got)) + " instead of " + to_string(const_float(want)));
  }

  void items(const Const &got, const Const &want, const std::string &name) {
    if (got.items.size() != want.items.size())
      return differ(name, std::to_string(got.items.size()) + " items instead of " +
                              std::to_string(want.items.size()));
    for (size_t i = 0; i < got.items.size(); i++)
      values(got.items[i], want.items[i], name + "[" + std::to_string(i) + "]");
  }

  void tensor(const at::Tensor &got, const at::Tensor &want, const std::string &name) {
    if (got.scalar_type() != want.scalar_type() || got.sizes() != want.sizes())
      return differ(name, shape_text(got) + " instead of " + shape_text(want));
    if (got.numel() == 0) return;
    if (!at::isFloatingType(got.scalar_type())) {
      if (!got.equal(want))
        differ(name, "its " + std::string(dtype_name(got.scalar_type())) + " values differ");
      return;
    }
    at::Tensor g = got.to(at::kDouble), w = want.to(at::kDouble);
    at::Tensor abs = (g - w).abs();
    at::Tensor finite = abs.isfinite();
    const at::Tensor size = w.abs().masked_fill(w.isfinite().logical_not(), 0);
    at::Tensor rel =
        (abs / size).masked_fill(size <= size.max() / 1000, 0);  // as rush_verify_report
    const double max_abs = abs.masked_fill(finite.logical_not(), 0).max().item<double>();
    measure(max_abs, rel.masked_fill(rel.isfinite().logical_not(), 0).max().item<double>());
    at::Tensor close = g.isclose(w, rtol_, atol_, /*equal_nan=*/true);
    if (close.all().item<bool>()) return;
    const int64_t n = close.logical_not().sum().item<int64_t>();
    const int64_t first = close.logical_not().flatten().to(at::kInt).argmax().item<int64_t>();
    char text[160];
    std::snprintf(
        text, sizeof text,
        "%lld of %lld elements differ, element %lld is %.9g instead of %.9g (max abs %.3g)",
        static_cast<long long>(n), static_cast<long long>(got.numel()),
        static_cast<long long>(first), g.flatten()[first].item<double>(),
        w.flatten()[first].item<double>(), max_abs);
    differ(name, text);
  }

  double rtol_, atol_;
};

void coarsest(const Const &value, bool *single) {
  each_tensor(value, [&](const Const &c) { *single |= c.tensor.scalar_type() == at::kFloat; });
}

uint64_t splitmix64(uint64_t *state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

Difference compare(const Const &got, const Const &want, double rtol, double atol,
                   const std::string &name) {
  Comparison c(rtol, atol);
  c.values(got, want, name);
  return c.result;
}

void default_tolerance(const Const &value, double *rtol, double *atol) {
  bool single = false;
  coarsest(value, &single);
  *rtol = single ? 1e-4 : 1e-7;
  *atol = single ? 1e-5 : 1e-9;
}

Const random_constant(at::ScalarType dtype, const std::vector<int64_t> &sizes, uint64_t seed,
                      double lo, double hi) {
  Const c;
  c.kind = RUSH_CONST_RANDOM;
  c.i = static_cast<int64_t>(seed);
  c.f = static_cast<float>(lo);  // the file holds floats
  c.im = static_cast<float>(hi);
  at::Tensor values = at::empty(sizes, at::kDouble);
  double *at = values.data_ptr<double>();
  const double span = c.im - c.f;
  for (int64_t i = 0; i < values.numel(); i++) {
    const uint64_t u = splitmix64(&seed);
    if (at::isFloatingType(dtype))
      at[i] = c.f + span * static_cast<double>(u >> 40) * 0x1p-24;
    else if (dtype == at::kBool)
      at[i] = static_cast<double>(u >> 63);
    else
      at[i] = std::floor(c.f + span * static_cast<double>(u >> 11) * 0x1p-53);
  }
  c.tensor = values.to(dtype);
  return c;
}

namespace {

class Snapshot {
 public:
  Const copy(const Const &value) {
    Const out = value;
    if (value.tensor.defined()) out.tensor = tensor(value.tensor);
    for (Const &item : out.items) item = copy(item);
    return out;
  }

 private:
  at::Tensor tensor(const at::Tensor &t) {
    if (!t.has_storage() || t.layout() != at::kStrided) return t.clone();
    const void *key = t.storage().unsafeGetStorageImpl();
    auto found = bytes_.find(key);
    if (found == bytes_.end()) {
      const size_t n = t.storage().nbytes();
      at::Tensor bytes = at::empty({static_cast<int64_t>(n)}, at::kByte);
      if (n) std::memcpy(bytes.data_ptr(), t.storage().data(), n);
      found = bytes_.emplace(key, bytes).first;
    }
    return at::empty({0}, t.options())
        .set_(found->second.storage(), t.storage_offset(), t.sizes(), t.strides());
  }
  std::map<const void *, at::Tensor> bytes_;
};

}  // namespace

std::vector<Const> snapshot(const std::vector<Const> &values) {
  Snapshot copies;
  std::vector<Const> out;
  for (const Const &v : values) out.push_back(copies.copy(v));
  return out;
}

}  // namespace rush
