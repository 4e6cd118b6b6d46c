#include "run/compare.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace rush {

namespace {

std::string shape_text(const Tensor &t) {
  std::string out = std::string(dtype_name(t.dtype())) + "[";
  for (int64_t d = 0; d < t.dim(); d++) out += (d ? ", " : "") + std::to_string(t.size(d));
  return out + "]";
}

const char *kind_text(rush_const_kind kind) {
  static const std::map<rush_const_kind, const char *> names = {
      {RUSH_CONST_NONE, "None"},        {RUSH_CONST_TENSOR, "a tensor"},
      {RUSH_CONST_INT, "an int"},       {RUSH_CONST_FLOAT, "a float"},
      {RUSH_CONST_BOOL, "a bool"},      {RUSH_CONST_COMPLEX, "a complex"},
      {RUSH_CONST_STR, "a str"},        {RUSH_CONST_LIST, "a list"},
      {RUSH_CONST_TUPLE, "a tuple"},    {RUSH_CONST_DICT, "a dict"},
      {RUSH_CONST_DEVICE, "a device"},  {RUSH_CONST_RANDOM, "a tensor"},
      {RUSH_CONST_OBJECT, "an object"}, {RUSH_CONST_ENUM, "an enum"}};
  const auto found = names.find(kind);
  return found == names.end() ? "a value" : found->second;
}

// Returns whether it is a tensor or a number, which have measures.
bool is_measured(const Const &c) {
  return c.tensor.defined() || c.is_number() || c.kind == RUSH_CONST_COMPLEX;
}

bool has_parts(const Const &c) {
  return c.kind == RUSH_CONST_LIST || c.kind == RUSH_CONST_TUPLE || c.kind == RUSH_CONST_DICT ||
         c.kind == RUSH_CONST_OBJECT || c.kind == RUSH_CONST_ENUM;
}

}  // namespace

bool is_float_like(const Const &c) {
  return c.tensor.defined() ? c.tensor.is_floating_point() || c.tensor.is_complex()
                            : c.is_float() || c.kind == RUSH_CONST_COMPLEX;
}

std::vector<double> elements(const Const &c) {
  if (c.is_float()) return {c.f};
  if (c.kind == RUSH_CONST_COMPLEX) return {c.f, c.im};
  return c.tensor.doubles();
}

std::vector<const Const *> measured_values(const Const &value) {
  if (is_measured(value)) return {&value};
  std::vector<const Const *> out;
  if (has_parts(value))
    for (const Const &item : value.items)
      for (const Const *leaf : measured_values(item)) out.push_back(leaf);
  return out;
}

namespace {

// Returns whether `exact` can be float64's answer to PyTorch's `want`.
bool fits(const Const &exact, const Const &want) {
  if (!want.tensor.defined()) return exact.kind == want.kind && !exact.tensor.defined();
  const rush_dtype dtype = want.tensor.is_complex() ? RUSH_COMPLEX128
                           : is_float_like(want)    ? RUSH_FLOAT64
                                                    : want.tensor.dtype();
  return exact.tensor.defined() && exact.tensor.dtype() == dtype &&
         exact.tensor.sizes() == want.tensor.sizes();
}

double greatest(const std::vector<double> &values) {
  double most = 0;
  for (double x : values)
    if (std::isfinite(x)) most = std::max(most, std::fabs(x));
  return most;
}

class Comparison {
 public:
  Comparison(double rtol, double atol, const std::vector<Measure> *measures,
             const std::vector<rush_distance> *several)
      : rtol_(rtol), atol_(atol), measures_(measures), several_(several) {}
  Difference result;

  void values(const Const &got, const Const &want, const std::string &name) {
    const bool tensors = got.tensor.defined() && want.tensor.defined();
    if (!tensors && got.kind != want.kind)
      return differ(name, std::string(kind_text(got.kind)) + " instead of " + kind_text(want.kind));
    if (has_parts(want)) return items(got, want, name);
    if (is_measured(want)) return leaf(got, want, name);
    if (got.i != want.i || got.s != want.s)
      differ(name, to_string(got) + " instead of " + to_string(want));
  }

 private:
  void differ(const std::string &name, const std::string &how) {
    if (!result.ok) return;
    result.ok = false;
    result.where = name + ": " + how;
  }

  void items(const Const &got, const Const &want, const std::string &name) {
    if (got.items.size() != want.items.size())
      return differ(name, std::to_string(got.items.size()) + " items instead of " +
                              std::to_string(want.items.size()));
    for (size_t i = 0; i < got.items.size(); i++)
      values(got.items[i], want.items[i], name + "[" + std::to_string(i) + "]");
  }

  void leaf(const Const &got, const Const &want, const std::string &name) {
    const Measure plain = {rtol_, atol_, std::nullopt};
    const Measure &measure = measures_ && next_ < measures_->size() ? (*measures_)[next_++] : plain;
    if (want.tensor.defined() &&
        (got.tensor.dtype() != want.tensor.dtype() || got.tensor.sizes() != want.tensor.sizes()))
      return differ(name, shape_text(got.tensor) + " instead of " + shape_text(want.tensor));
    if (is_float_like(want)) return floats(got, want, measure, name);
    if (equal(got, want) || (measure.exact && equal(got, *measure.exact))) return;
    differ(name, want.tensor.defined()
                     ? "its " + std::string(dtype_name(want.tensor.dtype())) + " values differ"
                     : to_string(got) + " instead of " + to_string(want));
  }

  static bool equal(const Const &a, const Const &b) {
    return a.tensor.defined() ? a.tensor.equal(b.tensor) : a.i == b.i;
  }

  void measure(double got, double want, double small) {
    if (!std::isfinite(got) || !std::isfinite(want)) return;
    const double abs = std::fabs(got - want), size = std::fabs(want);
    result.max_abs = std::max(result.max_abs, abs);
    if (size > small) result.max_rel = std::max(result.max_rel, abs / size);
  }

  void floats(const Const &got, const Const &want, const Measure &measure,
              const std::string &name) {
    const std::vector<double> a = elements(got), b = elements(want);
    const std::vector<double> e = measure.exact ? elements(*measure.exact) : b;
    const double most = greatest(b), small = want.tensor.defined() ? most / 1000 : 0;
    rush_verdict v;
    rush_verdict_begin(&v, measure.rtol, measure.atol, most, measure.exact.has_value(),
                       measures_ != nullptr);
    for (size_t i = 0; i < a.size(); i++) {
      this->measure(a[i], b[i], small);
      rush_verdict_add(&v, a[i], b[i], e[i]);
    }
    keep_distances(v);
    if (rush_verdict_is_right(&v) || is_right_of_several(v)) return;
    if (!want.tensor.defined())
      return differ(name, to_string(got) + " instead of " + to_string(want) + distances(v));
    const double atol = v.close ? v.tight_atol : v.atol;
    size_t first = 0, n = 0;
    for (size_t i = 0; i < a.size(); i++) {
      const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                        std::fabs(a[i] - b[i]) <= atol + v.rtol * std::fabs(b[i]);
      if (!same && n++ == 0) first = i;
    }
    char text[160];
    std::snprintf(text, sizeof text,
                  "%zu of %zu elements differ, element %zu is %.9g instead of %.9g (max abs %.3g)",
                  n, a.size(), first, a[first], b[first], v.difference.max);
    differ(name, text + distances(v));
  }

  // Returns whether the value whose measure was used last is right by its distances over several inputs.
  bool is_right_of_several(const rush_verdict &v) const {
    if (!several_ || next_ == 0 || next_ > several_->size() || v.broken) return false;
    if (!rush_verdict_is_measure(&v)) return false;
    const rush_distance &most = (*several_)[next_ - 1];
    rush_distance pytorch, rushlight, difference;
    rush_verdict_distances(&v, &pytorch, &rushlight, &difference);
    return rushlight.max <= kSeveralMultiple * most.max &&
           rushlight.l2 <= kSeveralMultiple * most.l2;
  }

  void keep_distances(const rush_verdict &v) {
    if (!v.measured || v.n == 0) return;  // an empty tensor proves nothing
    rush_distance pytorch, rushlight, difference;
    rush_verdict_distances(&v, &pytorch, &rushlight, &difference);
    if (result.measured++ > 0 && !(rushlight.max > result.rushlight.max)) return;
    result.pytorch = pytorch;
    result.rushlight = rushlight;
    result.difference = difference;
  }

  static std::string distances(const rush_verdict &v) {
    if (!v.measured) return "";
    rush_distance pytorch, rushlight, difference;
    rush_verdict_distances(&v, &pytorch, &rushlight, &difference);
    char text[160];
    std::snprintf(
        text, sizeof text,
        "; from float64's answer PyTorch is off by %.3g (L2 %.3g), this by %.3g (L2 %.3g)",
        pytorch.max, pytorch.l2, rushlight.max, rushlight.l2);
    return text;
  }

  double rtol_, atol_;
  const std::vector<Measure> *measures_;
  const std::vector<rush_distance> *several_;
  size_t next_ = 0;
};

// The coarseness of a dtype. Halves differ by a unit in the last place if sums are added in another
// order.
enum Grain { DOUBLE, SINGLE, HALF, BFLOAT };

Grain grain_of(rush_dtype dtype) {
  return dtype == RUSH_BFLOAT16                             ? BFLOAT
         : dtype == RUSH_FLOAT16                            ? HALF
         : dtype == RUSH_FLOAT32 || dtype == RUSH_COMPLEX64 ? SINGLE
                                                            : DOUBLE;
}

Grain coarsest(const Const &value, bool floats_from_float32) {
  Grain grain = DOUBLE;
  if (value.tensor.defined()) grain = grain_of(value.tensor.dtype());
  if (floats_from_float32 && !value.tensor.defined() && is_float_like(value)) grain = SINGLE;
  if (has_parts(value))
    for (const Const &item : value.items)
      grain = std::max(grain, coarsest(item, floats_from_float32));
  return grain;
}

void tolerance_of(Grain grain, double *rtol, double *atol) {
  *rtol = grain == BFLOAT ? 1.6e-2 : grain == HALF ? 1e-3 : grain == SINGLE ? 1e-4 : 1e-7;
  *atol = grain == DOUBLE ? 1e-9 : 1e-5;
}

// Returns whether float64's value differs by more than its own rounding.
bool is_rounded(const Const &want, const Const &exact) {
  const std::vector<double> b = elements(want), e = elements(exact);
  const double most = greatest(e);
  for (size_t i = 0; i < b.size(); i++)
    if (std::isfinite(b[i]) && std::isfinite(e[i]) && std::fabs(b[i] - e[i]) > 1e-12 * most)
      return true;
  return false;
}

// Compares PyTorch's own answer with float64's.
rush_verdict float64_verdict(const Const &want, const Const &exact, double rtol = 0) {
  const std::vector<double> b = elements(want), e = elements(exact);
  rush_verdict v;
  rush_verdict_begin(&v, rtol, 0, greatest(b), true, false);
  for (size_t i = 0; i < b.size(); i++) rush_verdict_add(&v, b[i], b[i], e[i]);
  return v;
}

// Returns whether float64's answer differs by more than rounding.
bool is_other(const Const &want, const Const &exact) {
  const rush_verdict v = float64_verdict(want, exact);
  return !rush_verdict_is_measure(&v);
}

class Measures {
 public:
  explicit Measures(bool floats_from_float32) : floats_from_float32_(floats_from_float32) {}
  std::vector<Measure> list;
  bool unstable = false;

  void add(const Const &want, const Const *exact) {
    if (has_parts(want)) {
      const bool same =
          exact && exact->kind == want.kind && exact->items.size() == want.items.size();
      unstable |= exact && !same;
      for (size_t i = 0; i < want.items.size(); i++)
        add(want.items[i], same ? &exact->items[i] : nullptr);
    } else if (is_measured(want)) {
      const bool is_one = exact && fits(*exact, want);
      unstable |= exact && !is_one;
      leaf(want, is_one ? exact : nullptr);
    }
  }

 private:
  void leaf(const Const &want, const Const *exact) {
    Measure out = {0, 0, std::nullopt};
    if (is_float_like(want)) {
      Grain grain = coarsest(want, floats_from_float32_);
      if (exact && is_rounded(want, *exact)) grain = std::max(grain, SINGLE);
      tolerance_of(grain, &out.rtol, &out.atol);
      unstable |= exact && is_other(want, *exact);
      if (exact && grain != DOUBLE) out.exact = *exact;
    } else if (exact) {
      const bool same =
          want.tensor.defined() ? want.tensor.equal(exact->tensor) : want.i == exact->i;
      if (!same) out.exact = *exact;
      unstable |= !same;
    }
    list.push_back(std::move(out));
  }

  bool floats_from_float32_;
};

uint64_t splitmix64(uint64_t *state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

Difference compare(const Const &got, const Const &want, double rtol, double atol,
                   const std::string &name, const std::vector<Measure> *measures,
                   const std::vector<rush_distance> *several) {
  Comparison c(rtol, atol, measures, several);
  c.values(got, want, name);
  return c.result;
}

void default_tolerance(const Const &value, bool floats_from_float32, double *rtol, double *atol) {
  tolerance_of(coarsest(value, floats_from_float32), rtol, atol);
}

std::vector<rush_distance> distances_of(const Const &answer, const Const &exact) {
  const std::vector<const Const *> a = measured_values(answer), e = measured_values(exact);
  std::vector<rush_distance> out;
  for (size_t i = 0; i < a.size() && a.size() == e.size(); i++) {
    rush_distance pytorch = {0, 0}, rushlight, difference;
    if (is_float_like(*a[i]) && fits(*e[i], *a[i])) {
      double rtol, atol;
      default_tolerance(*a[i], true, &rtol, &atol);
      const rush_verdict v = float64_verdict(*a[i], *e[i], rtol);
      if (rush_verdict_is_measure(&v))
        rush_verdict_distances(&v, &pytorch, &rushlight, &difference);
    }
    out.push_back(pytorch);
  }
  return out;
}

std::vector<Measure> measures_of(const Const &want, const Const *exact, bool floats_from_float32,
                                 bool *unstable) {
  Measures out(floats_from_float32);
  out.add(want, exact);
  *unstable |= out.unstable;
  return out.list;
}

Const random_constant(rush_dtype dtype, const std::vector<int64_t> &sizes, uint64_t seed, double lo,
                      double hi) {
  Const c;
  c.kind = RUSH_CONST_RANDOM;
  c.i = static_cast<int64_t>(seed);
  c.f = static_cast<float>(lo);  // the file holds floats
  c.im = static_cast<float>(hi);
  std::vector<double> values(static_cast<size_t>(product(sizes)));
  const double span = c.im - c.f;
  for (double &value : values) {
    const uint64_t u = splitmix64(&seed);
    if (is_floating_point(dtype))
      value = c.f + span * static_cast<double>(u >> 40) * 0x1p-24;
    else if (dtype == RUSH_BOOL)
      value = static_cast<double>(u >> 63);
    else
      value = std::floor(c.f + span * static_cast<double>(u >> 11) * 0x1p-53);
  }
  c.tensor = Tensor::of(dtype, sizes, values);
  return c;
}

}  // namespace rush
