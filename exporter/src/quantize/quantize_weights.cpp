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

constexpr int64_t kGroup = 32;  // the default for four bits

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

// Counts the bytes of a weight and of the tensors that replace it.
void count(const Tensor &weight, const std::vector<Tensor> &parts, Quantized *out) {
  out->before += weight.nbytes();
  for (const Tensor &part : parts) out->after += part.nbytes();
}

using Numbers = std::vector<float>;

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
void int8_of(const Tensor &weight, Tensor *integers, Tensor *scales) {
  *scales = Tensor::zeros(RUSH_FLOAT32, {weight.size(0)});
  *integers = Tensor::zeros(RUSH_INT8, weight.sizes());
  int8_t *to = data_of<int8_t>(*integers);
  each_row(weight, [&](size_t i, const Numbers &row) {
    float most = 0;
    for (const float x : row) most = std::max(most, std::fabs(x));
    const float scale = most / 127, divisor = scale > 0 ? scale : 1;
    data_of<float>(*scales)[i] = scale;
    for (const float x : row) *to++ = static_cast<int8_t>(step_of(x, divisor, 0, -127, 127));
  });
}

// A weight [out, in] as integers of four bits, two in a byte, with float16 scales for each group, and
// optional zero points. Without them 0 is 8, and the largest value of a group is -8 steps away.
struct Int4 {
  Tensor integers, scales, zero_points;
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
      for (size_t j = from; j < end; j++) put_int4(to, j, step_of(row[j], divisor, of.zero, 0, 15));
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
bool linear_of_bytes(Node *node, const Const &weight, Quantized *out) {
  if (weight.tensor.size(1) > kLongest) return false;
  Tensor integers, scales;
  int8_of(weight.tensor, &integers, &scales);
  count(weight.tensor, {integers, scales}, out);
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
  if (bits.kind == Bits::INT8 || bits.kind == Bits::INT8_STATIC)
    return linear_of_bytes(node, *weight, out);
  Graph &graph = *node->block->graph;
  const Tensor &w = weight->tensor;
  Int4 parts;
  const bool four = bits.kind == Bits::INT4 || bits.kind == Bits::INT4_WEIGHTS;
  if (four) {
    parts = int4_of(w, bits);
  } else {
    int8_of(w, &parts.integers, &parts.scales);
    parts.scales = as_column(parts.scales);
  }
  count(w, {parts.integers, parts.scales}, out);
  if (parts.zero_points.defined()) out->after += parts.zero_points.nbytes();
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

// Stores the weight as float16 for an operator that converts constants and computes in float32.
bool halve(Node *node, Quantized *out) {
  const Const *weight = node->constant(WEIGHT);
  if (!is_weight(weight) || weight->tensor.dtype() != RUSH_FLOAT32 || !fits_float16(weight->tensor))
    return false;
  const Tensor half = weight->tensor.to(RUSH_FLOAT16);
  count(weight->tensor, {half}, out);
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
    const Tensor half = w.to(RUSH_FLOAT16);
    count(w, {half}, out);
    std::vector<Value *> inputs(node->inputs.begin(), node->inputs.end());
    inputs[0] = graph.constant(const_tensor(half, weight->s));
    made = as(RUSH_FLOAT32, insert_call(node, "aten::embedding",
                                        inputs)); /* of a table that a layer packs, too */
  } else {
    Tensor integers, scales;
    int8_of(w, &integers, &scales);
    count(w, {integers, scales}, out);
    Value *numbers = as(RUSH_FLOAT32, rows_of(integers, weight->s));
    Value *factors = rows_of(as_column(scales), weight->s.empty() ? "" : weight->s + ".scales");
    made = insert_call(node, "aten::mul.Tensor", {numbers, factors});
    if (is_half(w.dtype())) made = as(w.dtype(), made);
  }
  node->give_way_to(made->def);
  return true;
}

}  // namespace

Bits bits_from_name(const std::string &name) {
  if (name.empty()) return {};
  if (name == "int8") return {name, Bits::INT8};
  if (name == "int8-static") return {name, Bits::INT8_STATIC};
  if (name == "int8-weights") return {name, Bits::INT8_WEIGHTS};
  if (name == "float16") return {name, Bits::FLOAT16};
  for (const Bits::Kind kind : {Bits::INT4, Bits::INT4_WEIGHTS})
    for (const int64_t group : {int64_t{0}, int64_t{32}, int64_t{64}, int64_t{128}})
      for (const bool zero_points : {false, true})
        if (name == std::string(kind == Bits::INT4 ? "int4" : "int4-weights") +
                        (group ? ":" + std::to_string(group) : "") +
                        (zero_points ? ":zero-points" : ""))
          return {name, kind, group ? group : kGroup, zero_points};
  throw std::invalid_argument(
      "quantize must be 'int8', 'int8-static', 'int8-weights', 'int4', 'int4-weights' (in groups "
      "of "
      "32; also 'int4:64' or 'int4:128', each also with ':zero-points') or 'float16', got '" +
      name + "'");
}

// The memory of weights of linear layers that become integers.
std::set<const void *> linear_weights(const Program &program) {
  std::set<const void *> out;
  for (const Method &m : program.methods)
    for (const Node *node : all_nodes(*m.graph))
      if (const Const *c = node->op == "rush::linear" ? node->constant(WEIGHT) : nullptr)
        if (is_weight(c) && c->tensor.size(1) <= kLongest) out.insert(c->tensor.bytes());
  return out;
}

void quantize_weights(Program &program, const Bits &bits, Quantized *out) {
  out->name = bits.name;
  if (bits.kind == Bits::ALL) return;
  const bool half = bits.kind == Bits::FLOAT16;
  const bool of_bytes = bits.kind == Bits::INT8 || bits.kind == Bits::INT8_STATIC;
  for (Method &m : program.methods)
    if (!half)
      fuse_linear_of_halves(*m.graph, [&](const Tensor &weight) {
        return is_weight(weight) && !(of_bytes && weight.size(1) > kLongest);
      });
  // With INT8 a table of an embedding alone stays, as it costs no time. One that is also a layer's
  // weight would be in the file twice.
  std::set<const void *> weights;
  if (bits.kind == Bits::INT8) weights = linear_weights(program);
  const auto is_tied = [&](const Node *node) {
    const Const *c = node->constant(0);
    return is_weight(c) && weights.count(c->tensor.bytes()) > 0;
  };
  for (Method &m : program.methods)
    for (Node *node : all_nodes(*m.graph)) {
      if (node->op == "rush::linear")
        ((half ? halve(node, out) : linear(node, bits, out)) ? out->layers : out->kept)++;
      else if (node->op == "rush::conv" && half)
        (halve(node, out) ? out->layers : out->kept)++;
      else if (node->op == "aten::embedding" && bits.kind != Bits::INT8_STATIC &&
               (bits.kind != Bits::INT8 || is_tied(node)))
        (embedding(node, bits, out) ? out->layers : out->kept)++;
    }
}

}  // namespace rush
