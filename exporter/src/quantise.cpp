#include "quantise.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "ir/graph.h"
#include "run/compare.h"

namespace rush {

namespace {

enum { INPUT, WEIGHT, BIAS, MIN, MAX };  // arguments of rush::linear

// Sums of so many products of two bytes fit in 32 bits: linear_int8's limit.
constexpr int64_t kLongest = 1 << 16;

struct Name {
  const char *name;
  Bits bits;
};
constexpr Name kNames[] = {{"", Bits::ALL}, {"int8", Bits::INT8}};

const char *name_of(Bits bits) {
  for (const Name &row : kNames)
    if (row.bits == bits) return row.name;
  return "";
}

// A weight [out, in] as integers and a scale for each of its rows.
void int8_of(const at::Tensor &weight, at::Tensor *integers, at::Tensor *scales) {
  *scales = weight.abs().amax(1) / 127;
  const at::Tensor divisor = at::where(*scales > 0, *scales, 1).unsqueeze(1);
  *integers = (weight / divisor).round().clamp(-127, 127).to(at::kChar).contiguous();
}

bool rewrite(Node *node, Quantised *out) {
  const Const *weight = node->constant(WEIGHT);
  if (!weight || !weight->is_tensor() || weight->tensor.scalar_type() != at::kFloat ||
      weight->tensor.numel() < kLeastQuantised || weight->tensor.size(1) > kLongest ||
      !weight->tensor.isfinite().all().item<bool>())
    return false;
  Graph &graph = *node->block->graph;
  at::Tensor integers, scales;
  int8_of(weight->tensor, &integers, &scales);
  out->before += weight->tensor.nbytes();
  out->after += integers.nbytes() + scales.nbytes();
  Node *made = graph.insert_before(node, "rush::linear_int8");
  made->add_input(node->input(INPUT));
  made->add_input(graph.constant(const_tensor(integers, weight->s)));
  made->add_input(graph.constant(const_tensor(scales, weight->s + ".scales")));
  for (const size_t i : {BIAS, MIN, MAX}) made->add_input(node->input(i));
  made->add_output(tensor_type());
  node->give_way_to(made);
  return true;
}

std::string text_of(const char *format, double value) {
  char out[40];
  std::snprintf(out, sizeof out, format, value);
  return out;
}

}  // namespace

Bits bits_from_name(const std::string &name) {
  std::string known;
  for (const Name &row : kNames) {
    if (row.name == name) return row.bits;
    if (*row.name) known += (known.empty() ? "'" : ", '") + std::string(row.name) + "'";
  }
  throw std::invalid_argument("there is no quantize='" + name + "'; there is " + known);
}

Quantised quantise(Program &program, Bits bits) {
  Quantised out;
  out.name = name_of(bits);
  if (bits == Bits::ALL) return out;
  for (Method &m : program.methods)
    for (Node *node : all_nodes(*m.graph))
      if (node->op == "rush::linear") (rewrite(node, &out) ? out.layers : out.kept)++;
  return out;
}

namespace {

// Of one tensor or number.
Quantised distance_of(const std::vector<double> &got, const std::vector<double> &want) {
  Quantised out;
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

// Pairs of values; throws where they do not belong together.
template <class F>
void each_pair(const Const &got, const Const &want, F f) {
  const Difference same_kinds = compare(got, want, HUGE_VAL, HUGE_VAL, "an output");
  const std::vector<const Const *> mine = measured_values(got), theirs = measured_values(want);
  if (mine.size() != theirs.size()) throw std::runtime_error(same_kinds.where);
  for (size_t i = 0; i < mine.size(); i++) {
    const at::Tensor &a = mine[i]->tensor, &b = theirs[i]->tensor;
    if (a.defined() != b.defined() ||
        (a.defined() && (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes())))
      throw std::runtime_error(same_kinds.where);
    f(i, *mine[i], *theirs[i]);
  }
}

}  // namespace

void add_distance(const Const &got, const Const &want, Quantised *out) {
  each_pair(got, want, [&](size_t, const Const &a, const Const &b) {
    if (!is_float_like(b)) return;
    const Quantised of = distance_of(elements(a), elements(b));
    out->max = std::max(out->max, of.max);
    out->l2 = std::max(out->l2, of.l2);
    out->cosine = std::min(out->cosine, of.cosine);
  });
}

bool expect_own(const Const &own, Test *test) {
  bool astray = false, equal = true;
  std::vector<Measure> measures = measures_of(own, nullptr, true, &astray);
  each_pair(own, test->output, [&](size_t i, const Const &a, const Const &b) {
    if (is_float_like(b))
      measures.at(i).rtol = std::max(measures[i].rtol, distance_of(elements(a), elements(b)).l2);
    else
      equal &= compare(a, b, 0, 0, "").ok;
  });
  if (!equal) return false;
  test->output = own;
  test->measures = std::move(measures);
  return true;
}

std::string to_string(const Quantised &q) {
  char line[320];
  std::snprintf(
      line, sizeof line,
      "  quantised %s: %zu linear layers, %zu stay; their weights take %llu bytes instead "
      "of %llu\n",
      q.name.c_str(), q.layers, q.kept, static_cast<unsigned long long>(q.after),
      static_cast<unsigned long long>(q.before));
  return line;
}

}  // namespace rush
