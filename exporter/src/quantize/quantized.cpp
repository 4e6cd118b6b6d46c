#include "quantize/quantized.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/counted.h"
#include "base/joined.h"
#include "run/compare.h"

namespace rush {

namespace {

std::string text_of(const char *format, double value) {
  char out[40];
  std::snprintf(out, sizeof out, format, value);
  return out;
}

// Returns the error of one tensor or number.
Quantized distance_of(const std::vector<double> &got, const std::vector<double> &want) {
  Quantized out;
  double most = 0, difference = 0, a = 0, b = 0, product = 0;
  for (size_t i = 0; i < got.size(); i++) {
    if (got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) {
      if (!std::isfinite(want[i])) continue;
    } else if (!std::isfinite(got[i]) || !std::isfinite(want[i])) {
      throw std::runtime_error("element " + std::to_string(i) + " is " + text_of("%.9g", got[i]) +
                               " instead of " + text_of("%.9g", want[i]));
    }
    const double d = got[i] - want[i];
    out.max = std::max(out.max, std::fabs(d));
    most = std::max(most, std::fabs(want[i]));
    difference += d * d, a += got[i] * got[i], b += want[i] * want[i], product += got[i] * want[i];
  }
  out.max /= most > 0 ? most : 1;
  out.l2 = std::sqrt(difference) / (b > 0 ? std::sqrt(b) : 1);
  out.cosine = a > 0 && b > 0 ? product / std::sqrt(a * b) : a == b ? 1 : 0;
  return out;
}

using Pair = std::pair<const Const *, const Const *>;

// Returns the pairs of values in the same positions. Throws if the structures differ.
std::vector<Pair> pairs_of(const Const &got, const Const &want) {
  const Difference same_kinds = compare(got, want, HUGE_VAL, HUGE_VAL, "an output");
  const std::vector<const Const *> values = measured_values(got), expected = measured_values(want);
  if (values.size() != expected.size()) throw std::runtime_error(same_kinds.where);
  std::vector<Pair> out;
  for (size_t i = 0; i < values.size(); i++) {
    const Tensor &a = values[i]->tensor, &b = expected[i]->tensor;
    if (a.defined() != b.defined() ||
        (a.defined() && (a.dtype() != b.dtype() || a.sizes() != b.sizes())))
      throw std::runtime_error(same_kinds.where);
    out.emplace_back(values[i], expected[i]);
  }
  return out;
}

}  // namespace

void add_distance(const Const &got, const Const &want, Quantized *out) {
  for (const auto &[a, b] : pairs_of(got, want)) {
    if (!is_float_like(*b)) continue;
    const Quantized of = distance_of(elements(*a), elements(*b));
    out->max = std::max(out->max, of.max);
    out->l2 = std::max(out->l2, of.l2);
    out->cosine = std::min(out->cosine, of.cosine);
  }
}

bool expect_answer(const Const &own, Test *test) {
  bool unstable = false;
  std::vector<Measure> measures = measures_of(own, nullptr, true, &unstable);
  try {
    size_t i = 0;
    for (const auto &[a, b] : pairs_of(own, test->output)) {
      Measure &measure = measures.at(i++);
      if (is_float_like(*b))
        measure.rtol = std::max(measure.rtol, distance_of(elements(*a), elements(*b)).l2);
      else if (!compare(*a, *b, 0, 0, "").ok)
        return false;
    }
  } catch (const std::runtime_error &) {
    return false;
  }
  test->output = own;
  test->measures = std::move(measures);
  return true;
}

void add_uncalibrated(const std::string &why, const std::string &path, Quantized *out) {
  std::vector<std::string> &paths = out->uncalibrated[why];
  const std::string name = path.empty() ? "(a layer without a module)" : path;
  if (std::find(paths.begin(), paths.end(), name) == paths.end()) paths.push_back(name);
}

std::vector<std::string> uncalibrated_warnings(const Quantized &q) {
  constexpr size_t kShown = 10;
  std::vector<std::string> out;
  for (const auto &[why, paths] : q.uncalibrated) {
    const auto end = paths.begin() + static_cast<std::ptrdiff_t>(std::min(paths.size(), kShown));
    out.push_back(why + ": " +
                  joined(std::vector<std::string>(paths.begin(), end),
                         [](const std::string &path) { return path; }));
    if (paths.size() > kShown)
      out.back() += " and " + std::to_string(paths.size() - kShown) + " more";
  }
  return out;
}

namespace {

// The layers whose weights lose most, if they have different bits or errors.
std::string largest_errors_text(const Quantized &q) {
  constexpr size_t kShown = 3;
  std::vector<Quantized::Layer> layers = q.by_layer;
  if (layers.size() <= kShown) return "";
  std::stable_sort(layers.begin(), layers.end(),
                   [](const auto &a, const auto &b) { return a.error > b.error; });
  std::string out = "  weights   off by";
  for (size_t i = 0; i < kShown; i++)
    out += (i ? ", " : " ") + text_of("%.3g", layers[i].error) + " in " + layers[i].path + " (" +
           layers[i].bits + ")";
  return out + "\n";
}

}  // namespace

std::string to_string(const Quantized &q) {
  char line[320];
  std::snprintf(line, sizeof line,
                "  quantized %s: %s, %zu %s; their weights take %llu bytes instead of %llu\n",
                q.name.c_str(), counted(q.layers, "layer").c_str(), q.kept,
                q.kept == 1 ? "stays" : "stay", static_cast<unsigned long long>(q.after),
                static_cast<unsigned long long>(q.before));
  return line + largest_errors_text(q);
}

}  // namespace rush
