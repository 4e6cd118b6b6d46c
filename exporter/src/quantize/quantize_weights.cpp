#include "quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "ir/graph.h"
#include "passes/match.h"
#include "passes/passes.h"
#include "quantize/hessians.h"
#include "quantize/int4.h"

namespace rush {

namespace {

enum { INPUT, WEIGHT, BIAS, MIN, MAX };  // arguments of rush::linear

// Sums of this many products of two bytes fit in 32 bits. It is linear_int8's limit.
constexpr int64_t kLongest = 1 << 16;

bool is_half(rush_dtype dtype) {
  return dtype == RUSH_FLOAT16 || dtype == RUSH_BFLOAT16;
}

bool is_weight(const Tensor &t) {
  return t.is_strided() && (t.dtype() == RUSH_FLOAT32 || is_half(t.dtype())) &&
         t.numel() >= kLeastQuantized && t.dim() >= 2 && t.all_finite();
}

bool is_weight(const Const *c) {
  return c && c->is_tensor() && is_weight(c->tensor);
}

// Returns the path of a layer's module. A weight has the path of the module that owns it, and a node the
// path or the name of the module that runs it. The two differ for a tied weight.
std::string path_of(const Node &node, const Const &weight) {
  const std::string owner = weight.s.substr(0, std::min(weight.s.rfind('.'), weight.s.size()));
  const std::string &module = node.source.module;
  const bool ends = owner.size() >= module.size() &&
                    owner.compare(owner.size() - module.size(), module.size(), module) == 0;
  return ends ? owner : module;
}

// Records a layer: the bytes of its weight and of the tensors that replace it, and its error.
void record(const Node &node, const Const &weight, const Bits &bits,
            const std::vector<Tensor> &parts, const WeightError &error, Quantized *out) {
  Quantized::Layer layer;
  layer.path = path_of(node, weight);
  layer.bits = bits.name;
  layer.before = weight.tensor.nbytes();
  for (const Tensor &part : parts)
    if (part.defined()) layer.after += part.nbytes();
  layer.error = error.relative();
  out->before += layer.before;
  out->after += layer.after;
  out->by_layer.push_back(std::move(layer));
}

using Numbers = std::vector<float>;

bool is_of_bytes(const Bits &bits) {
  return bits.kind == Bits::INT8 || bits.kind == Bits::INT8_STATIC;
}

// x / by, rounded to a whole number of [low, high]. Of two equally near ones it is the even one.
float step_of(float x, float by, float zero, float low, float high) {
  return std::clamp(std::nearbyint(x / by) + zero, low, high);
}

// Calls f(i, numbers) for each row. One row at a time is in memory as floats.
template <class F>
void each_row(const Tensor &weight, F f) {
  for (int64_t i = 0; i < weight.size(0); i++)
    f(static_cast<size_t>(i), weight.select(0, i).floats());
}

template <class T>
T *data_of(const Tensor &created) {
  return static_cast<T *>(created.storage()->data);
}

// Quantizes a weight [out, in, ...] to integers and a scale for each row.
WeightError int8_of(const Tensor &weight, Tensor *integers, Tensor *scales) {
  WeightError error;
  *scales = Tensor::zeros(RUSH_FLOAT32, {weight.size(0)});
  *integers = Tensor::zeros(RUSH_INT8, weight.sizes());
  int8_t *to = data_of<int8_t>(*integers);
  each_row(weight, [&](size_t i, const Numbers &row) {
    float most = 0;
    for (const float x : row) most = std::max(most, std::fabs(x));
    const float scale = most / 127, divisor = scale > 0 ? scale : 1;
    data_of<float>(*scales)[i] = scale;
    for (const float x : row) {
      *to = static_cast<int8_t>(step_of(x, divisor, 0, -127, 127));
      error.add(x, *to++ * scale);
    }
  });
  return error;
}

// Returns whether all values are finite as float16.
bool fits_float16(const Tensor &weight) {
  bool fits = true;
  each_row(weight, [&](size_t, const Numbers &row) {
    for (const float x : row) fits = fits && std::fabs(x) <= 65504;
  });
  return fits;
}

// Returns a column of scales, one for each row.
Tensor as_column(const Tensor &scales) {
  return scales.reshape({scales.size(0), 1});
}

// Returns a constant that holds a part of a weight, with the weight's name and a suffix.
Value *part_of(const Const &weight, Graph &graph, const Tensor &part, const char *suffix) {
  return graph.constant(const_tensor(part, weight.s.empty() ? "" : weight.s + suffix));
}

// rush::linear_int8: products of bytes.
bool linear_of_bytes(Node *node, const Const &weight, const Bits &bits, Quantized *out) {
  if (weight.tensor.size(1) > kLongest) return false;
  Tensor integers, scales;
  const WeightError error = int8_of(weight.tensor, &integers, &scales);
  record(*node, weight, bits, {integers, scales}, error, out);
  Graph &graph = *node->block->graph;
  const Value *created = insert_call(node, "rush::linear_int8",
                                     {node->input(INPUT), part_of(weight, graph, integers, ""),
                                      part_of(weight, graph, scales, ".scales"), node->input(BIAS),
                                      node->input(MIN), node->input(MAX)});
  node->replace_by(created->def);
  return true;
}

// Kernels add a float32 bias before the result is rounded.
void widen_bias(Node *node) {
  const Const *bias = node->constant(BIAS);
  if (!bias || !bias->is_tensor() || !is_half(bias->tensor.dtype())) return;
  const Const wide = const_tensor(bias->tensor.to(RUSH_FLOAT32), bias->s);
  node->set_input(BIAS, node->block->graph->constant(wide));
}

bool is_four(const Bits &bits) {
  return bits.kind == Bits::INT4 || bits.kind == Bits::INT4_WEIGHTS;
}

// Weights of four bits. A weight that several layers share is quantized once.
class Int4Weights {
 public:
  Int4Weights(Hessians *hessians, Quantized *out) : hessians_(hessians), out_(out) {}

  const Int4 &of(const Node &node, const Const &weight, const Bits &bits) {
    const auto [at, is_new] = known_.try_emplace({key_of(weight.tensor), bits.name});
    if (is_new) {
      const auto feedback = hessians_->of(&node);
      if (hessians_->has_batches() && feedback->importance().empty())
        add_uncalibrated(hessians_->why_uncalibrated(node), path_of(node, weight), out_);
      at->second = int4_of(weight.tensor, bits, *feedback);
    }
    return at->second;
  }

 private:
  Hessians *hessians_;
  Quantized *out_;
  std::map<std::pair<WeightKey, std::string>, Int4> known_;
};

bool linear(Node *node, const Bits &bits, Int4Weights *int4, Quantized *out) {
  const Const *weight = node->constant(WEIGHT);
  if (!is_weight(weight)) return false;
  widen_bias(node);
  if (is_of_bytes(bits)) return linear_of_bytes(node, *weight, bits, out);
  Graph &graph = *node->block->graph;
  const Tensor &w = weight->tensor;
  Int4 parts;
  const bool four = is_four(bits);
  if (four) {
    parts = int4->of(*node, *weight, bits);
  } else {
    parts.error = int8_of(w, &parts.integers, &parts.scales);
    parts.scales = as_column(parts.scales);
  }
  record(*node, *weight, bits, {parts.integers, parts.scales, parts.offsets}, parts.error, out);
  const char *suffix = bits.offsets == Bits::MINIMA ? ".minima" : ".zero_points";
  Value *offsets = parts.offsets.defined() ? part_of(*weight, graph, parts.offsets, suffix)
                                           : graph.constant(const_none());
  const auto number = [&](int64_t n) { return graph.constant(const_int(n)); };
  const Value *created =
      insert_call(node, "rush::linear_weights",
                  {node->input(INPUT), part_of(*weight, graph, parts.integers, ""),
                   part_of(*weight, graph, parts.scales, ".scales"), offsets, node->input(BIAS),
                   number(four ? 4 : 8), number(w.size(1)), number(four ? bits.group : w.size(1)),
                   node->input(MIN), node->input(MAX), number(bits.kind == Bits::INT4 ? 8 : 16)});
  node->replace_by(created->def);
  return true;
}

// Makes a copy as float16, and returns its error.
WeightError half_of(const Tensor &weight, Tensor *half) {
  WeightError error;
  *half = weight.to(RUSH_FLOAT16);
  each_row(weight, [&](size_t, const Numbers &row) {
    for (const float x : row) error.add(x, from_half_bits(half_bits(x)));
  });
  return error;
}

// Stores the weight as float16 for an operator that converts constants and computes in float32.
bool halve(Node *node, const Bits &bits, Quantized *out) {
  const Const *weight = node->constant(WEIGHT);
  if (!is_weight(weight) || weight->tensor.dtype() != RUSH_FLOAT32 || !fits_float16(weight->tensor))
    return false;
  Tensor half;
  const WeightError error = half_of(weight->tensor, &half);
  record(*node, *weight, bits, {half}, error, out);
  node->set_input(WEIGHT, node->block->graph->constant(const_tensor(half, weight->s)));
  return true;
}

// The operator takes rows of the integers and converts them to floats.
bool embedding(Node *node, const Bits &bits, Quantized *out) {
  const Const *weight = node->constant(0);
  if (!is_weight(weight) || weight->tensor.dim() != 2) return false;
  Graph &graph = *node->block->graph;
  const Tensor &w = weight->tensor;
  const auto rows_of = [&](const Tensor &table, const std::string &name) {
    Value *indices =
        insert_call(node, "prim::ListConstruct", {node->input(1)}, list_of(tensor_type()));
    return insert_call(node, "aten::index.Tensor_hacked_twin",
                       {graph.constant(const_tensor(table, name)), indices});
  };
  const auto as = [&](rush_dtype dtype, Value *v) {
    return insert_call(node, "aten::to.dtype", {v, graph.constant(const_int(int64_t{dtype}))});
  };
  Value *created;
  if (bits.kind == Bits::FLOAT16) {
    if (w.dtype() != RUSH_FLOAT32 || !fits_float16(w)) return false;
    Tensor half;
    const WeightError error = half_of(w, &half);
    record(*node, *weight, bits, {half}, error, out);
    std::vector<Value *> inputs(node->inputs.begin(), node->inputs.end());
    inputs[0] = graph.constant(const_tensor(half, weight->s));
    created = as(RUSH_FLOAT32, insert_call(node, "aten::embedding",
                                           inputs)); /* of a table that a layer packs, too */
  } else {
    Tensor integers, scales;
    const WeightError error = int8_of(w, &integers, &scales);
    record(*node, *weight, bits, {integers, scales}, error, out);
    Value *numbers = as(RUSH_FLOAT32, rows_of(integers, weight->s));
    Value *factors = rows_of(as_column(scales), weight->s.empty() ? "" : weight->s + ".scales");
    created = insert_call(node, "aten::mul.Tensor", {numbers, factors});
    if (is_half(w.dtype()) && !is_cast(only_user(node->outputs[0]), RUSH_FLOAT32))
      created = as(w.dtype(), created);
  }
  node->replace_by(created->def);
  return true;
}

// Finds the bits of each layer, and checks that each pattern has one.
class Rules {
 public:
  Rules(const Program &program, const Bits &bits)
      : bits_(bits), used_(bits.patterns.size(), false) {
    for (const Method &m : program.methods)
      for (const Node *node : all_nodes(*m.graph)) {
        const Const *table = node->op == "aten::embedding" ? node->constant(0) : nullptr;
        if (table && table->is_tensor() && table->tensor.is_strided())
          tables_.insert(table->tensor.storage_id());
      }
  }

  // A table has 8 bits, so a layer with the same weight has 8 bits, too.
  const Bits &bits_of(const Node &node, const Const &weight) {
    static const Bits int8 = bits_from_name("int8"), weights = bits_from_name("int8-weights");
    const Bits &bits = given(node, weight);
    if (!is_four(bits) || !weight.tensor.is_strided() || !tables_.count(weight.tensor.storage_id()))
      return bits;
    return bits.kind == Bits::INT4 ? int8 : weights;
  }

  void check() const {
    for (size_t i = 0; i < used_.size(); i++)
      if (!used_[i])
        throw std::invalid_argument("quantize: the pattern '" + bits_.patterns[i] +
                                    "' must match a layer that no pattern before it matches. The "
                                    "layers are " +
                                    known());
  }

 private:
  // Returns the bits that the user gives.
  const Bits &given(const Node &node, const Const &weight) {
    static const Bits all;
    if (bits_.kind != Bits::BY_LAYER) return bits_;
    const std::string path = path_of(node, weight);
    known_.insert(path);
    const size_t i = pattern_of(bits_, path);
    if (i == used_.size()) return all;
    used_[i] = true;
    return bits_.of[i];
  }

  std::string known() const {
    constexpr size_t kLongestList = 400;  // characters
    std::string out;
    for (const std::string &path : known_) {
      if (path.empty()) continue;
      if (out.size() > kLongestList) return out + ", ...";
      out += (out.empty() ? "" : ", ") + path;
    }
    return out.empty() ? "none" : out;
  }

  const Bits &bits_;
  std::vector<bool> used_;
  std::set<std::string> known_;
  std::set<const void *> tables_;  // storages of embeddings
};

// Returns the weight of a layer; nullptr for another node.
const Const *weight_of(const Node &node) {
  if (node.op == "rush::linear" || node.op == "rush::conv") return node.constant(WEIGHT);
  return node.op == "aten::embedding" ? node.constant(0) : nullptr;
}

// Returns whether these bits quantize layers of this kind.
bool concerns(const Bits &bits, const Node &node) {
  if (node.op == "rush::conv") return bits.kind == Bits::FLOAT16;
  if (node.op == "aten::embedding" && bits.kind == Bits::INT8_STATIC) return false;
  return bits.kind != Bits::ALL;
}

// Returns the layers of the first method that get four bits. Those inside of loops and branches are left
// out.
std::vector<Node *> calibrated_layers(const Program &program, Rules *rules) {
  std::vector<Node *> layers;
  for (auto &node : program.methods[0].graph->top.nodes) {
    const Const *weight = node->op == "rush::linear" ? node->constant(WEIGHT) : nullptr;
    if (is_weight(weight) && is_four(rules->bits_of(*node, *weight))) layers.push_back(node.get());
  }
  return layers;
}

// Refuses patterns that match no layer, before the calibration, which may take minutes.
void check_patterns(const Program &program, Rules *rules) {
  for (const Method &m : program.methods)
    for (const Node *node : all_nodes(*m.graph))
      if (const Const *weight = weight_of(*node); weight && weight->is_tensor())
        rules->bits_of(*node, *weight);
  rules->check();
}

bool apply(Node *node, const Bits &bits, Int4Weights *int4, Quantized *out) {
  if (node->op == "aten::embedding") return embedding(node, bits, out);
  if (bits.kind == Bits::FLOAT16) return halve(node, bits, out);
  return linear(node, bits, int4, out);
}

}  // namespace

void quantize_weights(Program &program, const Bits &bits, const std::vector<Batch> &batches,
                      const Opener &open, Quantized *out) {
  out->name = bits.name;
  if (bits.kind == Bits::ALL) return;
  Rules rules(program, bits);
  const auto becomes_integers = [&](const Node &node, const Const &weight) {
    const Bits &of = rules.bits_of(node, weight);
    return is_weight(&weight) && of.kind != Bits::ALL && of.kind != Bits::FLOAT16 &&
           !(is_of_bytes(of) && weight.tensor.size(1) > kLongest);
  };
  for (Method &m : program.methods) fuse_linear_of_halves(*m.graph, becomes_integers);
  check_patterns(program, &rules);
  Hessians hessians(program, calibrated_layers(program, &rules), INPUT, WEIGHT, batches, open);
  Int4Weights int4(&hessians, out);
  for (Method &m : program.methods)
    for (Node *node : all_nodes(*m.graph)) {
      const Const *weight = weight_of(*node);
      if (!weight || !weight->is_tensor()) continue;
      const Bits &of = rules.bits_of(*node, *weight);
      if (concerns(of, *node)) (apply(node, of, &int4, out) ? out->layers : out->kept)++;
    }
}

}  // namespace rush
