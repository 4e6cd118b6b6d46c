#include "quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "ir/graph.h"
#include "passes/passes.h"

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

// The error of a weight, in units of its norm.
struct Error {
  double difference = 0, norm = 0;
  void add(double wanted, double got) {
    difference += (wanted - got) * (wanted - got);
    norm += wanted * wanted;
  }
  double relative() const { return norm > 0 ? std::sqrt(difference / norm) : 0; }
};

// The path of a layer's module. A weight has the path of the module that owns it, and a node the path
// or the name of the module that runs it. The two differ for a tied weight.
std::string path_of(const Node &node, const Const &weight) {
  const std::string owner = weight.s.substr(0, std::min(weight.s.rfind('.'), weight.s.size()));
  const std::string &module = node.source.module;
  const bool ends = owner.size() >= module.size() &&
                    owner.compare(owner.size() - module.size(), module.size(), module) == 0;
  return ends ? owner : module;
}

// Records a layer: the bytes of its weight and of the tensors that replace it, and its error.
void record(const Node &node, const Const &weight, const Bits &bits,
            const std::vector<Tensor> &parts, const Error &error, Quantized *out) {
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
T *data_of(const Tensor &made) {
  return static_cast<T *>(made.storage()->data);
}

// Quantizes a weight [out, in, ...] to integers and a scale for each row.
Error int8_of(const Tensor &weight, Tensor *integers, Tensor *scales) {
  Error error;
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

// A weight [out, in] as integers of four bits, two in a byte, with float16 scales for each group, and
// optional zero points. Without them 0 is 8, and the largest value of a group is -8 steps away.
struct Int4 {
  Tensor integers, scales, zero_points;
  Error error;
};

// The scale of a group of numbers, as float16 has it, and its zero point.
struct Group {
  float scale, zero;
};

Group with_zero_point(const float *from, const float *to) {
  const float low = std::min(*std::min_element(from, to), 0.f);
  const float high = std::max(*std::max_element(from, to), 0.f);
  const float scale = from_half_bits(half_bits((high - low) / 15));
  return {scale, step_of(-low, scale > 0 ? scale : 1, 0, 0, 15)};
}

Group without_zero_point(const float *from, const float *to) {
  const float *most =
      std::max_element(from, to, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
  return {from_half_bits(half_bits(*most / -8)), 8};
}

Group group_of(const Bits &bits, Numbers numbers) {
  numbers.resize(static_cast<size_t>(bits.group), 0);
  const float *begin = numbers.data(), *end = begin + numbers.size();
  return bits.zero_points ? with_zero_point(begin, end) : without_zero_point(begin, end);
}

// Puts two integers into each byte. A row with an odd number ends with 0.
void put_int4(uint8_t *row, size_t column, float integer) {
  row[column / 2] = static_cast<uint8_t>(row[column / 2] |
                                         (static_cast<unsigned>(integer) << (column % 2 ? 4 : 0)));
}

Int4 int4_of(const Tensor &weight, const Bits &bits) {
  const int64_t n = weight.size(0), k = weight.size(1), groups = (k + bits.group - 1) / bits.group;
  const int64_t bytes = (k + 1) / 2;
  Int4 out;
  out.integers = Tensor::zeros(RUSH_UINT8, {n, bytes});
  Numbers scales, zeros;
  each_row(weight, [&](size_t i, const Numbers &row) {
    uint8_t *to = data_of<uint8_t>(out.integers) + i * static_cast<size_t>(bytes);
    for (size_t from = 0; from < row.size(); from += static_cast<size_t>(bits.group)) {
      const size_t end = std::min(from + static_cast<size_t>(bits.group), row.size());
      const Group of = group_of(bits, Numbers(row.data() + from, row.data() + end));
      const float divisor = of.scale != 0 ? of.scale : HUGE_VALF;
      for (size_t j = from; j < end; j++) {
        const float integer = step_of(row[j], divisor, of.zero, 0, 15);
        put_int4(to, j, integer);
        out.error.add(row[j], (integer - of.zero) * of.scale);
      }
      scales.push_back(of.scale);
      zeros.push_back(of.zero);
    }
  });
  out.scales = Tensor::of(RUSH_FLOAT16, {n, groups}, scales);
  if (bits.zero_points) out.zero_points = Tensor::of(RUSH_UINT8, {n, groups}, zeros);
  return out;
}

// Whether all values are finite as float16.
bool fits_float16(const Tensor &weight) {
  bool fits = true;
  each_row(weight, [&](size_t, const Numbers &row) {
    for (const float x : row) fits = fits && std::fabs(x) <= 65504;
  });
  return fits;
}

// A column of scales, one for each row.
Tensor as_column(const Tensor &scales) {
  return scales.reshape({scales.size(0), 1});
}

// A constant that holds a part of a weight, with the weight's name and a suffix.
Value *part_of(const Const &weight, Graph &graph, const Tensor &part, const char *suffix) {
  return graph.constant(const_tensor(part, weight.s.empty() ? "" : weight.s + suffix));
}

// rush::linear_int8: products of bytes.
bool linear_of_bytes(Node *node, const Const &weight, const Bits &bits, Quantized *out) {
  if (weight.tensor.size(1) > kLongest) return false;
  Tensor integers, scales;
  const Error error = int8_of(weight.tensor, &integers, &scales);
  record(*node, weight, bits, {integers, scales}, error, out);
  Graph &graph = *node->block->graph;
  const Value *made = insert_call(node, "rush::linear_int8",
                                  {node->input(INPUT), part_of(weight, graph, integers, ""),
                                   part_of(weight, graph, scales, ".scales"), node->input(BIAS),
                                   node->input(MIN), node->input(MAX)});
  node->give_way_to(made->def);
  return true;
}

// Kernels add a float32 bias before the result is rounded.
void widen_bias(Node *node) {
  const Const *bias = node->constant(BIAS);
  if (!bias || !bias->is_tensor() || !is_half(bias->tensor.dtype())) return;
  const Const wide = const_tensor(bias->tensor.to(RUSH_FLOAT32), bias->s);
  node->set_input(BIAS, node->block->graph->constant(wide));
}

bool linear(Node *node, const Bits &bits, Quantized *out) {
  const Const *weight = node->constant(WEIGHT);
  if (!is_weight(weight)) return false;
  widen_bias(node);
  if (is_of_bytes(bits)) return linear_of_bytes(node, *weight, bits, out);
  Graph &graph = *node->block->graph;
  const Tensor &w = weight->tensor;
  Int4 parts;
  const bool four = bits.kind == Bits::INT4 || bits.kind == Bits::INT4_WEIGHTS;
  if (four) {
    parts = int4_of(w, bits);
  } else {
    parts.error = int8_of(w, &parts.integers, &parts.scales);
    parts.scales = as_column(parts.scales);
  }
  record(*node, *weight, bits, {parts.integers, parts.scales, parts.zero_points}, parts.error, out);
  Value *zero_points = parts.zero_points.defined()
                           ? part_of(*weight, graph, parts.zero_points, ".zero_points")
                           : graph.constant(const_none());
  const auto number = [&](int64_t n) { return graph.constant(const_int(n)); };
  const Value *made =
      insert_call(node, "rush::linear_weights",
                  {node->input(INPUT), part_of(*weight, graph, parts.integers, ""),
                   part_of(*weight, graph, parts.scales, ".scales"), zero_points, node->input(BIAS),
                   number(four ? 4 : 8), number(w.size(1)), number(four ? bits.group : w.size(1)),
                   node->input(MIN), node->input(MAX), number(bits.kind == Bits::INT4 ? 8 : 16)});
  node->give_way_to(made->def);
  return true;
}

// A copy as float16, and its error.
Error half_of(const Tensor &weight, Tensor *half) {
  Error error;
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
  const Error error = half_of(weight->tensor, &half);
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
  Value *made;
  if (bits.kind == Bits::FLOAT16) {
    if (w.dtype() != RUSH_FLOAT32 || !fits_float16(w)) return false;
    Tensor half;
    const Error error = half_of(w, &half);
    record(*node, *weight, bits, {half}, error, out);
    std::vector<Value *> inputs(node->inputs.begin(), node->inputs.end());
    inputs[0] = graph.constant(const_tensor(half, weight->s));
    made = as(RUSH_FLOAT32, insert_call(node, "aten::embedding",
                                        inputs)); /* of a table that a layer packs, too */
  } else {
    Tensor integers, scales;
    const Error error = int8_of(w, &integers, &scales);
    record(*node, *weight, bits, {integers, scales}, error, out);
    Value *numbers = as(RUSH_FLOAT32, rows_of(integers, weight->s));
    Value *factors = rows_of(as_column(scales), weight->s.empty() ? "" : weight->s + ".scales");
    made = insert_call(node, "aten::mul.Tensor", {numbers, factors});
    if (is_half(w.dtype())) made = as(w.dtype(), made);
  }
  node->give_way_to(made->def);
  return true;
}

// Finds the bits of each layer, and checks that each pattern has one.
class Rules {
 public:
  explicit Rules(const Bits &bits) : bits_(bits), used_(bits.patterns.size(), false) {}

  const Bits &bits_of(const Node &node, const Const &weight) {
    static const Bits all;
    if (bits_.kind != Bits::BY_LAYER) return bits_;
    const std::string path = path_of(node, weight);
    known_.insert(path);
    const size_t i = pattern_of(bits_, path);
    if (i == used_.size()) return all;
    used_[i] = true;
    return bits_.of[i];
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
};

// The weight of a layer; nullptr for another node.
const Const *weight_of(const Node &node) {
  if (node.op == "rush::linear" || node.op == "rush::conv") return node.constant(WEIGHT);
  return node.op == "aten::embedding" ? node.constant(0) : nullptr;
}

// Whether these bits quantize layers of this kind.
bool concerns(const Bits &bits, const Node &node) {
  if (node.op == "rush::conv") return bits.kind == Bits::FLOAT16;
  if (node.op == "aten::embedding" && bits.kind == Bits::INT8_STATIC) return false;
  return bits.kind != Bits::ALL;
}

bool apply(Node *node, const Bits &bits, Quantized *out) {
  if (node->op == "aten::embedding") return embedding(node, bits, out);
  return bits.kind == Bits::FLOAT16 ? halve(node, bits, out) : linear(node, bits, out);
}

}  // namespace

void quantize_weights(Program &program, const Bits &bits, Quantized *out) {
  out->name = bits.name;
  if (bits.kind == Bits::ALL) return;
  Rules rules(bits);
  const auto becomes_integers = [&](const Node &node, const Const &weight) {
    const Bits &of = rules.bits_of(node, weight);
    return is_weight(&weight) && of.kind != Bits::ALL && of.kind != Bits::FLOAT16 &&
           !(is_of_bytes(of) && weight.tensor.size(1) > kLongest);
  };
  for (Method &m : program.methods) {
    fuse_linear_of_halves(*m.graph, becomes_integers);
    for (Node *node : all_nodes(*m.graph)) {
      const Const *weight = weight_of(*node);
      if (!weight || !weight->is_tensor()) continue;
      const Bits &of = rules.bits_of(*node, *weight);
      if (concerns(of, *node)) (apply(node, of, out) ? out->layers : out->kept)++;
    }
  }
  rules.check();
}

}  // namespace rush
