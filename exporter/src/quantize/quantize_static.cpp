// Quantizes convolutional networks to 8 bits. Weights are symmetric, with a scale for each output channel.
// Activations are affine: runs of examples find a scale and a zero point for each tensor.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "passes/match.h"
#include "quantize/quantize.h"
#include "run/native.h"
#include "run/observe.h"

namespace rush {

namespace {

using namespace of_conv;

// The numbers are those of kernels/int8_conv.h.
enum Activation { PLAIN, HARDSWISH, SILU, HARDSIGMOID, SIGMOID };

// The range of a tensor, and the sizes that it had.
struct Range {
  double scale = 1;
  int64_t zero_point = 0;
  std::vector<int64_t> sizes;
  bool finite = true;
};

// ---- What may be quantized ---------------------------------------------------------------------

bool is_in_place(const Node &node) {
  const std::string name = node.op.substr(0, node.op.find('.'));
  return name.rfind("aten::", 0) == 0 && name.size() > 7 && name.back() == '_' &&
         name[name.size() - 2] != '_';
}

// Returns whether the result has its own memory.
bool makes_new(const Node *node) {
  static const std::set<std::string> ops = {"rush::conv",       "aten::add.Tensor",
                                            "aten::mul.Tensor", "aten::max_pool2d",
                                            "aten::hardswish",  "aten::silu",
                                            "aten::relu",       "aten::hardsigmoid",
                                            "aten::sigmoid",    "aten::adaptive_avg_pool2d"};
  return node && ops.count(node->op);
}

// Replaces in-place operators by others if nothing else sees the write, so that the value before has
// its own range.
void out_of_place(Graph &graph) {
  static const std::set<std::string> ops = {
      "aten::add_.Tensor", "aten::mul_.Tensor", "aten::relu_",       "aten::hardswish_",
      "aten::silu_",       "aten::sigmoid_",    "aten::hardsigmoid_"};
  for (auto &node : graph.top.nodes)
    if (ops.count(node->op) && makes_new(node->input(0)->def) && only_user(node->input(0)))
      node->op.erase(node->op.find('_'), 1);
}

// Values that are written while they have aliases.
std::set<const Value *> written_values(const Graph &graph) {
  std::set<const Value *> out;
  for (const Node *node : all_nodes(graph)) {
    if (!is_in_place(*node)) continue;
    std::vector<const Value *> todo = {node->input(0)};
    while (!todo.empty()) {
      const Value *v = todo.back();
      todo.pop_back();
      if (!out.insert(v).second || !v->def || makes_new(v->def)) continue;
      todo.insert(todo.end(), v->def->inputs.begin(), v->def->inputs.end());
    }
  }
  return out;
}

Activation activation_of(const Node &node) {
  static const std::map<std::string, Activation> of = {{"aten::hardswish", HARDSWISH},
                                                       {"aten::silu", SILU},
                                                       {"aten::hardsigmoid", HARDSIGMOID},
                                                       {"aten::sigmoid", SIGMOID}};
  const auto found = of.find(node.op);
  return found == of.end() ? PLAIN : found->second;
}

// Returns the node after a convolution or a sum that bounds it at 0, or that is an activation of
// convolutions.
Node *follower(const Node *node) {
  Node *next = only_user(node->output());
  double min, max;
  if (!next || next->outputs.size() != 1 || is_in_place(*next)) return nullptr;
  if (is_clamp(*next, &min, &max)) return min <= 0 && max >= 0 ? next : nullptr;
  const bool bounded = node->op == "rush::conv" && (node->constant(MIN)->number() != -kInf ||
                                                    node->constant(MAX)->number() != kInf);
  return node->op == "rush::conv" && !bounded && activation_of(*next) != PLAIN ? next : nullptr;
}

// Returns the last value of a node and its follower, which its integers represent.
Value *result_of(Node *node) {
  Node *next = follower(node);
  return next ? next->output() : node->output();
}

bool is_conv(const Node &node) {
  if (node.op != "rush::conv") return false;
  const Const *w = node.constant(WEIGHT);
  return w && w->is_tensor() && w->tensor.dtype() == RUSH_FLOAT32 && w->tensor.numel() > 0 &&
         w->tensor.all_finite() && node.constant(MIN)->number() <= 0 &&
         node.constant(MAX)->number() >= 0;
}

bool is_global_mean(const Node &node) {
  std::vector<int64_t> list;
  if (node.op == "aten::adaptive_avg_pool2d")
    return node.constant(1) && ints_of(*node.constant(1), &list) &&
           list == std::vector<int64_t>{1, 1};
  if (node.op != "aten::mean.dim" || !node.constant(1) || !ints_of(*node.constant(1), &list) ||
      (node.inputs.size() > 3 && !(node.constant(3) && node.constant(3)->is_none())))
    return false;
  return list == std::vector<int64_t>{2, 3} || list == std::vector<int64_t>{-2, -1} ||
         list == std::vector<int64_t>{-1, -2} || list == std::vector<int64_t>{3, 2};
}

bool is_sum(const Node &node) {
  return node.op == "aten::add.Tensor" &&
         (node.inputs.size() < 3 ||
          (node.constant(2) && node.constant(2)->is_number() && node.constant(2)->number() == 1));
}

// Returns the values whose ranges must be known.
std::vector<Value *> observed_values(Graph &graph) {
  std::vector<Value *> out;
  std::set<const Value *> seen;
  const auto add = [&](Value *v) {
    if (!v->is_constant() && seen.insert(v).second) out.push_back(v);
  };
  for (auto &node : graph.top.nodes) {
    if (is_conv(*node)) {
      add(node->input(INPUT));
      add(result_of(node.get()));
    } else if (is_sum(*node) || node->op == "aten::mul.Tensor") {
      if (node->input(0)->is_constant() || node->input(1)->is_constant()) continue;
      add(node->input(0));
      add(node->input(1));
      add(result_of(node.get()));
    }
  }
  return out;
}

// ---- Calibration -------------------------------------------------------------------------------

// A histogram of the values of a tensor.
struct Histogram {
  static constexpr int64_t kBins = 2048;
  double low = 0, high = 0;
  std::vector<double> counts = std::vector<double>(kBins, 0);
  std::vector<int64_t> sizes;
  bool finite = true;

  void widen(const Tensor &t) {
    sizes = t.sizes();
    if (t.dtype() != RUSH_FLOAT32 || t.numel() == 0 || !t.all_finite()) finite = false;
    if (!finite) return;
    for (const float x : t.floats()) {
      low = std::min<double>(low, x);
      high = std::max<double>(high, x);
    }
  }
  // Bins are computed in float32, as torch.histc does.
  void count(const Tensor &t) {
    if (!finite || !(high > low)) return;
    const float least = static_cast<float>(low), most = static_cast<float>(high);
    for (const float x : t.floats()) {
      if (x < least || x > most) continue;
      const auto bin = static_cast<size_t>((x - least) * float{kBins} / (most - least));
      counts[std::min(bin, size_t{kBins} - 1)] += 1;
    }
  }

  // Returns the sum of squared errors in units of a bin if only [a, b] of the range has integers.
  double error(double a, double b) const {
    const double part = (high - low) / kBins, step = (b - a) / 255;
    double sum = 0;
    for (int64_t i = 0; i < kBins; i++) {
      const double x = low + (static_cast<double>(i) + 0.5) * part;
      const double outside = x < a ? a - x : x > b ? x - b : 0;
      // Inside of [a, b] errors are uniform over a step.
      sum += counts[static_cast<size_t>(i)] * (outside > 0 ? outside * outside : step * step / 12);
    }
    return sum;
  }

  // Returns the range with the smallest error among those that are narrower at both ends and
  // include 0.
  Range range() const {
    constexpr int kSteps = 64;
    Range out;
    out.sizes = sizes;
    out.finite = finite;
    if (!finite || !(high > low)) return out;
    double best = HUGE_VAL, a = low, b = high;
    for (int i = kSteps; i > kSteps / 4; i--) {
      const double share = static_cast<double>(i) / kSteps;
      for (const auto &[from, to] : {std::pair(low * share, high * share),
                                     std::pair(low, high * share), std::pair(low * share, high)}) {
        const double e = error(from, to);
        if (e < best) best = e, a = from, b = to;
      }
    }
    // The steps are float32, so that all machines multiply by the same number.
    out.scale = static_cast<float>((b - a) / 255);
    if (!(out.scale >= 1e-30)) out.scale = 1;
    out.zero_point = std::clamp<int64_t>(std::llround(-a / out.scale), 0, 255);
    return out;
  }
};

// Runs the first method twice as it is, with its observed values as its result.
std::map<const Value *, Range> calibrate(Program &program, const std::vector<Value *> &values,
                                         const std::vector<Batch> &batches, const Opener &open) {
  std::map<const Value *, Range> out;
  if (values.empty()) return out;
  std::vector<Histogram> histograms(values.size());
  const Observing observing(&program, 0, values);
  const std::unique_ptr<NativeSession> session = open(program);
  for (const bool counts : {false, true})
    for (const Batch &batch : batches) {
      session->reset();
      session->manual_seed(RUSH_TEST_SEED);
      const Const got = run_batch(session.get(), batch);
      for (size_t i = 0; i < values.size(); i++)
        if (counts)
          histograms[i].count(got.items[i].tensor);
        else
          histograms[i].widen(got.items[i].tensor);
    }
  for (size_t i = 0; i < values.size(); i++) out[values[i]] = histograms[i].range();
  return out;
}

// ---- The new program ---------------------------------------------------------------------------

// Returns the scale of each output channel of a weight: 127 steps reach its largest value. The bias in
// steps of a sum stays far from the bounds of 32 bits, even if all weights are tiny.
std::vector<double> scales_of(const Tensor &weight, const Const *bias, double input_scale) {
  const std::vector<double> values = weight.doubles();
  std::vector<double> out(static_cast<size_t>(weight.size(0)), 0);
  const size_t columns = values.size() / out.size();
  for (size_t i = 0; i < values.size(); i++)
    out[i / columns] = std::max(out[i / columns], std::fabs(values[i]));
  for (double &scale : out) scale /= 127;
  if (bias && bias->is_tensor()) {
    const std::vector<double> shifts = bias->tensor.doubles();
    for (size_t c = 0; c < out.size(); c++)
      out[c] = std::max(out[c], std::fabs(shifts[c]) / (input_scale * (1 << 23)));
  }
  for (double &scale : out)
    if (!(scale > 0)) scale = 1;
  return out;
}

// Returns the weight in steps of these scales.
Tensor integers_with(const Tensor &weight, const std::vector<double> &scales) {
  std::vector<double> values = weight.doubles();
  const size_t columns = values.size() / scales.size();
  for (size_t i = 0; i < values.size(); i++)
    values[i] = std::clamp(std::nearbyint(values[i] / scales[i / columns]), -127., 127.);
  return Tensor::of(RUSH_INT8, weight.sizes(), values);
}

class Rewriter {
 public:
  Rewriter(Graph &graph, std::map<const Value *, Range> ranges, Quantized *out)
      : graph_(graph), ranges_(std::move(ranges)), written_(written_values(graph)), out_(out) {}

  void run() {
    std::vector<Node *> nodes;
    for (auto &node : graph_.top.nodes) nodes.push_back(node.get());
    for (Node *node : nodes) {
      if (gone_.count(node)) continue;
      if (node->op == "rush::conv") {
        conv(node);
      } else if (is_sum(*node)) {
        sum(node);
      } else if (node->op == "aten::mul.Tensor") {
        scale(node);
      } else if (is_global_mean(*node)) {
        mean(node);
      } else if (node->op == "aten::max_pool2d") {
        pool(node);
      }
    }
    for (const auto &[value, twin] : made_) give_floats(value, twin);
    for (auto at = nodes.rbegin(); at != nodes.rend(); ++at)
      if (gone_.count(*at) && !(*at)->has_uses()) (*at)->destroy();
  }

 private:
  Value *number(int64_t n) { return graph_.constant(const_int(n)); }
  Value *number(double n) { return graph_.constant(const_float(n)); }

  // Returns the range of a value that may be quantized, or nullptr if it may not.
  const Range *range(const Value *v) const {
    const auto found = ranges_.find(v);
    return found != ranges_.end() && found->second.finite && found->second.sizes.size() >= 3 &&
                   !written_.count(v)
               ? &found->second
               : nullptr;
  }

  // Returns the value in integers. It is inserted before `user` if it does not exist yet.
  Value *integers(Value *v, Node *user) {
    Value *&twin = twins_[v];
    if (!twin) {
      const Range &r = ranges_.at(v);
      twin = insert_call(user, "rush::quantized_of", {v, number(r.scale), number(r.zero_point)});
    }
    return twin;
  }

  bool has_integers(const Value *v) const { return twins_.count(v) && twins_.at(v); }

  // `twin` has the integers of `value`, whose node will be removed.
  void replace(Node *node, Value *value, Value *twin, int64_t format) {
    twins_[value] = twin;
    twin->name = value->name;
    made_.push_back({value, twin});
    formats_[value] = format;
    gone_.insert(node);
    if (value->def != node) gone_.insert(value->def);
  }

  void conv(Node *node) {
    Value *result = result_of(node);
    const Range *in = range(node->input(INPUT)), *to = range(result);
    if (!is_conv(*node) || !in || !to || written_.count(node->output())) return;
    const Const *weight = node->constant(WEIGHT);
    const Tensor &w = weight->tensor;
    const std::vector<double> scales = scales_of(w, node->constant(BIAS), in->scale);
    const Tensor integers_of = integers_with(w, scales);
    const Tensor zeros = Tensor::zeros(RUSH_INT32, {w.size(0)});
    const auto tensor = [&](const Tensor &t, const char *suffix) {
      return graph_.constant(const_tensor(t, weight->s.empty() ? "" : weight->s + suffix));
    };
    const Activation activation = result->def == node ? PLAIN : activation_of(*result->def);
    const std::vector<int64_t> none(static_cast<size_t>(w.dim() - 2), 0);
    Value *x = integers(node->input(INPUT), node);
    Value *twin = insert_call(
        node, "rush::quantized_conv",
        {x, tensor(integers_of, ""),
         tensor(Tensor::of(RUSH_FLOAT64, {w.size(0)}, scales), ".scales"), tensor(zeros, ""),
         node->input(BIAS), graph_.constant(const_bool(activation == PLAIN)), node->input(STRIDE),
         node->input(PADDING), node->input(DILATION), graph_.constant(const_ints(none)),
         node->input(GROUPS), graph_.constant(const_bool(false)), number(to->scale),
         number(to->zero_point), graph_.constant(const_bool(false)),
         number(static_cast<int64_t>(activation))});
    const Const *format = node->constant(FORMAT);
    replace(node, result, twin, format ? format->i : 0);
    out_->layers++;
    out_->before += w.nbytes();
    out_->after += integers_of.nbytes() + scales.size() * sizeof(double) + zeros.nbytes();
  }

  void sum(Node *node) {
    Value *a = node->input(0), *b = node->input(1), *result = result_of(node);
    const Range *p = range(a), *q = range(b), *to = range(result);
    if (!p || !q || !to || p->sizes != q->sizes || !(has_integers(a) || has_integers(b)) ||
        written_.count(node->output()))
      return;
    Value *x = integers(a, node), *y = integers(b, node);
    replace(
        node, result,
        insert_call(node, "rush::quantized_add", {x, y, number(to->scale), number(to->zero_point)}),
        format_of(a, b));
  }

  // Quantizes a scale for each channel (squeeze and excite).
  void scale(Node *node) {
    Value *a = node->input(0), *b = node->input(1), *result = node->output();
    const Range *p = range(a), *q = range(b), *to = range(result);
    if (!p || !q || !to || !has_integers(a) || !has_integers(b)) return;
    const auto of = [](std::vector<int64_t> sizes) {
      for (size_t d = 2; d < sizes.size(); d++) sizes[d] = 1;
      return sizes;
    };
    if (p->sizes == of(q->sizes)) std::swap(a, b), std::swap(p, q);
    if (q->sizes != of(p->sizes)) return;
    Value *x = integers(a, node), *y = integers(b, node);
    replace(node, result,
            insert_call(node, "rush::quantized_scale",
                        {x, y, number(to->scale), number(to->zero_point)}),
            format_of(a, b));
  }

  // The result has few numbers, which stay floats.
  void mean(Node *node) {
    Value *x = node->input(0);
    if (!has_integers(x) || ranges_.at(x).sizes.size() != 4) return;
    const Const *keep = node->op == "aten::mean.dim" ? node->constant(2) : nullptr;
    const bool flat = node->op == "aten::mean.dim" && !(keep && keep->is_bool() && keep->i);
    Value *created = insert_call(node, "rush::mean_of_quantized", {twins_.at(x)});
    if (flat)
      created = insert_call(node, "aten::flatten.using_ints", {created, number(int64_t{1})});
    node->output()->replace_all_uses_with(created);
    const auto known = ranges_.find(node->output());
    if (known != ranges_.end()) ranges_[created] = known->second;
    gone_.insert(node);
  }

  void pool(Node *node) {
    Value *x = node->input(0);
    if (!has_integers(x) || ranges_.at(x).sizes.size() != 4) return;
    std::vector<Value *> inputs = node->inputs;
    inputs[0] = twins_.at(x);
    Value *result = node->output();
    const Range *own = range(result);
    Range as = ranges_.at(x);  // the integers represent the same values as those of x
    if (own) as.sizes = own->sizes;
    ranges_[result] = as;
    replace(node, result, insert_call(node, "aten::max_pool2d", inputs), format_of(x, x));
  }

  int64_t format_of(const Value *a, const Value *b) const {
    const auto p = formats_.find(a), q = formats_.find(b);
    return p != formats_.end() ? p->second : q != formats_.end() ? q->second : 0;
  }

  // Makes floats again for nodes that still read the value.
  void give_floats(Value *value, Value *twin) {
    std::vector<Use> uses;
    for (const Use &use : value->uses)
      if (!gone_.count(use.node)) uses.push_back(use);
    if (uses.empty()) return;
    Block &block = *twin->def->block;
    const auto next = std::next(twin->def->place);
    Value *floats = insert_call(next == block.nodes.end() ? &block.results : next->get(),
                                "rush::floats_of", {twin, number(formats_[value])});
    for (const Use &use : uses) use.node->set_input(use.index, floats);
  }

  Graph &graph_;
  std::map<const Value *, Range> ranges_;
  const std::set<const Value *> written_;
  Quantized *out_;
  std::map<const Value *, Value *> twins_;
  std::vector<std::pair<Value *, Value *>> made_;
  std::map<const Value *, int64_t> formats_;
  std::set<const Node *> gone_;
};

}  // namespace

void quantize_convolutions(Program &program, const std::vector<Batch> &batches, const Opener &open,
                           Quantized *out) {
  Graph &graph = *program.methods[0].graph;
  out_of_place(graph);
  Rewriter(graph, calibrate(program, observed_values(graph), batches, open), out).run();
  for (const Method &m : program.methods)
    for (const Node *node : all_nodes(*m.graph)) {
      if (node->op != "rush::conv") continue;
      out->kept++;
      if (node->block != &graph.top)
        add_uncalibrated("convolutions outside of '" + program.methods[0].name +
                             "', or in its loops and branches, stay in float32",
                         node->source.module, out);
    }
}

}  // namespace rush
