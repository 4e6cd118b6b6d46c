#include "quantize/quantize.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "ir/graph.h"

namespace rush {

namespace {

enum { INPUT, WEIGHT, BIAS, MIN, MAX };  // arguments of rush::linear

// Sums of this many products of two bytes fit in 32 bits. It is linear_int8's limit.
constexpr int64_t kLongest = 1 << 16;

constexpr int64_t kGroup = 32;  // the default for four bits

bool is_weight(const Const *c) {
  return c && c->is_tensor() && c->tensor.layout() == at::kStrided &&
         c->tensor.scalar_type() == at::kFloat && c->tensor.numel() >= kLeastQuantized &&
         c->tensor.dim() >= 2 && c->tensor.isfinite().all().item<bool>();
}

// Counts the bytes of a weight and of the tensors that replace it.
void count(const at::Tensor &weight, const std::vector<at::Tensor> &parts, Quantized *out) {
  out->before += weight.nbytes();
  for (const at::Tensor &part : parts) out->after += part.nbytes();
}

// Quantizes a weight [out, in] to integers and a scale for each row.
void int8_of(const at::Tensor &weight, at::Tensor *integers, at::Tensor *scales) {
  *scales = weight.abs().amax(1) / 127;
  const at::Tensor divisor = at::where(*scales > 0, *scales, 1).unsqueeze(1);
  *integers = (weight / divisor).round().clamp(-127, 127).to(at::kChar).contiguous();
}

// A weight [out, in] as integers of four bits, two in a byte, with float16 scales for each group, and
// optional zero points. Without them 0 is 8, and the largest value of a group is -8 steps away.
struct Int4 {
  at::Tensor integers, scales, zero_points;
};

Int4 int4_of(const at::Tensor &weight, const Bits &bits) {
  const int64_t n = weight.size(0), k = weight.size(1), groups = (k + bits.group - 1) / bits.group;
  const at::Tensor all =
      at::constant_pad_nd(weight, {0, groups * bits.group - k}).view({n, groups, bits.group});
  Int4 out;
  at::Tensor zeros;
  if (bits.zero_points) {
    const at::Tensor low = all.amin(2).clamp_max(0), high = all.amax(2).clamp_min(0);
    out.scales = ((high - low) / 15).to(at::kHalf);
    const at::Tensor scale = out.scales.to(at::kFloat);
    zeros = (-low / at::where(scale > 0, scale, 1)).round().clamp(0, 15);
    out.zero_points = zeros.to(at::kByte).contiguous();
  } else {
    const at::Tensor most = all.gather(2, all.abs().argmax(2, true)).squeeze(2);
    out.scales = (most / -8).to(at::kHalf);
    zeros = at::full({n, groups}, 8, weight.options());
  }
  const at::Tensor scale = out.scales.to(at::kFloat);
  const at::Tensor steps = all / at::where(scale != 0, scale, HUGE_VAL).unsqueeze(2);
  at::Tensor integers = (steps.round() + zeros.unsqueeze(2)).clamp(0, 15).to(at::kByte);
  integers = integers.view({n, groups * bits.group}).narrow(1, 0, k);
  integers = at::constant_pad_nd(integers, {0, k % 2}).view({n, (k + 1) / 2, 2});
  out.integers = (integers.select(2, 0) + integers.select(2, 1) * 16).contiguous();
  return out;
}

// A constant that holds a part of a weight, with the weight's name and a suffix.
Value *part_of(const Const &weight, Graph &graph, const at::Tensor &part, const char *suffix) {
  return graph.constant(const_tensor(part, weight.s.empty() ? "" : weight.s + suffix));
}

// rush::linear_int8: products of bytes.
bool linear_of_bytes(Node *node, const Const &weight, Quantized *out) {
  if (weight.tensor.size(1) > kLongest) return false;
  at::Tensor integers, scales;
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

bool linear(Node *node, const Bits &bits, Quantized *out) {
  const Const *weight = node->constant(WEIGHT);
  if (!is_weight(weight)) return false;
  if (bits.kind == Bits::INT8 || bits.kind == Bits::INT8_STATIC)
    return linear_of_bytes(node, *weight, out);
  Graph &graph = *node->block->graph;
  const at::Tensor &w = weight->tensor;
  Int4 parts;
  const bool four = bits.kind == Bits::INT4 || bits.kind == Bits::INT4_WEIGHTS;
  if (four) {
    parts = int4_of(w, bits);
  } else {
    int8_of(w, &parts.integers, &parts.scales);
    parts.scales = parts.scales.unsqueeze(1);
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
  if (!is_weight(weight) || weight->tensor.abs().max().item<float>() > 65504) return false;
  const at::Tensor half = weight->tensor.to(at::kHalf);
  count(weight->tensor, {half}, out);
  node->set_input(WEIGHT, node->block->graph->constant(const_tensor(half, weight->s)));
  return true;
}

// The operator takes rows of the integers and converts them to floats.
bool embedding(Node *node, const Bits &bits, Quantized *out) {
  const Const *weight = node->constant(0);
  if (!is_weight(weight) || weight->tensor.dim() != 2) return false;
  Graph &graph = *node->block->graph;
  const at::Tensor &w = weight->tensor;
  const auto rows_of = [&](const at::Tensor &table, const std::string &name) {
    Value *indices =
        insert_call(node, "prim::ListConstruct", {node->input(1)}, list_of(tensor_type()));
    return insert_call(node, "aten::index.Tensor_hacked_twin",
                       {graph.constant(const_tensor(table, name)), indices});
  };
  const auto as_float = [&](Value *v) {
    return insert_call(node, "aten::to.dtype",
                       {v, graph.constant(const_int(static_cast<int64_t>(at::kFloat)))});
  };
  Value *made;
  if (bits.kind == Bits::FLOAT16) {
    if (w.abs().max().item<float>() > 65504) return false;
    const at::Tensor half = w.to(at::kHalf);
    count(w, {half}, out);
    std::vector<Value *> inputs(node->inputs.begin(), node->inputs.end());
    inputs[0] = graph.constant(const_tensor(half, weight->s));
    made = as_float(
        insert_call(node, "aten::embedding", inputs)); /* of a table that a layer packs, too */
  } else {
    at::Tensor integers, scales;
    int8_of(w, &integers, &scales);
    count(w, {integers, scales}, out);
    Value *numbers = as_float(rows_of(integers, weight->s));
    Value *factors = rows_of(scales.unsqueeze(1), weight->s.empty() ? "" : weight->s + ".scales");
    made = insert_call(node, "aten::mul.Tensor", {numbers, factors});
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
        if (is_weight(c) && c->tensor.size(1) <= kLongest) out.insert(c->tensor.const_data_ptr());
  return out;
}

void quantize_weights(Program &program, const Bits &bits, Quantized *out) {
  out->name = bits.name;
  if (bits.kind == Bits::ALL) return;
  const bool half = bits.kind == Bits::FLOAT16;
  // With INT8 a table of an embedding alone stays, as it costs no time. One that is also a layer's
  // weight would be in the file twice.
  std::set<const void *> weights;
  if (bits.kind == Bits::INT8) weights = linear_weights(program);
  const auto is_tied = [&](const Node *node) {
    const Const *c = node->constant(0);
    return is_weight(c) && weights.count(c->tensor.const_data_ptr()) > 0;
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
