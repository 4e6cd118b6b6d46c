// Unpacks the packed weights of quantized modules, which are objects of C++ classes.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/quantized/cpu/fbgemm_utils.h>

#include <algorithm>

#include "front/torchscript_parts.h"
#include "ir/unsupported.h"

namespace rush {

namespace jit = torch::jit;

namespace {

constexpr const char *kLinear = "LinearPackedParamsBase", *kConv2d = "Conv2dPackedParamsBase",
                     *kConv3d = "Conv3dPackedParamsBase", *kCell = "CellParamsBase",
                     *kEmbedding = "EmbeddingPackedParamsBase";

std::vector<c10::IValue> call(const std::string &op, const c10::IValue &argument) {
  std::vector<c10::IValue> stack{argument};
  c10::Dispatcher::singleton().findSchemaOrThrow(op.c_str(), "").callBoxed(&stack);
  return stack;
}

// The parts of a weight that programs take: its integers, a scale and a zero point for each channel (its
// first dimension), and the bias.
struct Weight {
  at::Tensor integers, scales, zero_points, bias;
};

Weight weight_of(const at::Tensor &weight, const c10::IValue &bias, int64_t axis) {
  Weight out;
  if (!weight.is_quantized())
    throw Unsupported(
        "quantized weights must be int8, got float16: quantize with dtype=torch.qint8");
  const int64_t channels = weight.size(axis);
  const auto wide = at::TensorOptions().dtype(at::kDouble);
  out.integers = weight.int_repr().contiguous();
  if (weight.qscheme() == at::kPerTensorAffine) {
    out.scales = at::full({channels}, weight.q_scale(), wide);
    out.zero_points = at::full({channels}, weight.q_zero_point(), wide.dtype(at::kInt));
  } else {
    out.scales = weight.q_per_channel_scales().to(at::kDouble);
    out.zero_points = weight.q_per_channel_zero_points().to(at::kInt);
  }
  if (bias.isTensor()) out.bias = bias.toTensor().detach().to(at::kFloat).contiguous();
  return out;
}

Weight linear_weight(const c10::IValue &packed) {
  const auto parts = call("quantized::linear_unpack", packed);
  return weight_of(parts.at(0).toTensor(), parts.at(1), 0);
}

class Splice {
 public:
  Splice(jit::Node *node, std::vector<jit::Value *> *out) : node_(node), out_(out) {}

  // Whether v was packed weights, which its parts now replace.
  bool operator()(jit::Value *v) {
    std::vector<c10::IValue> objects;
    const bool list = v->node()->kind() == c10::prim::ListConstruct;
    for (jit::Value *item : list ? items_of(v) : std::vector<jit::Value *>{v}) {
      auto value = jit::toIValue(item);
      if (!value || !value->isObject()) return false;
      objects.push_back(std::move(*value));
    }
    if (objects.empty()) return false;
    const std::string name = packed_class(objects[0]);
    if (name == kCell && list) return cells(objects), true;
    if (name == kLinear && !list) return put(linear_weight(objects[0]), is_qnnpack()), true;
    if (name == kConv2d && !list) return convolution(objects[0], "conv2d"), true;
    if (name == kConv3d && !list) return convolution(objects[0], "conv3d"), true;
    if (name == kEmbedding && !list) return table(objects[0]), true;
    return false;
  }

 private:
  // Handles a list that is made here, and appended to before the node.
  std::vector<jit::Value *> items_of(jit::Value *list) {
    std::vector<jit::Value *> out = list->node()->inputs().vec();
    std::vector<jit::Node *> appends;
    for (const jit::Use &use : list->uses())
      if (use.user->kind() == c10::aten::append &&
          use.user->owningBlock() == node_->owningBlock() && use.user->isBefore(node_))
        appends.push_back(use.user);
    std::sort(appends.begin(), appends.end(),
              [](jit::Node *a, jit::Node *b) { return a->isBefore(b); });
    for (jit::Node *append : appends) out.push_back(append->input(1));
    return out;
  }

  void put(const c10::IValue &value) {
    jit::WithInsertPoint before(node_);
    out_->push_back(node_->owningGraph()->insertConstant(value, node_->sourceRange()));
  }

  void put(const Weight &w, bool qnnpack) {
    put(c10::IValue(w.integers));
    put(c10::IValue(w.scales));
    put(c10::IValue(w.zero_points));
    put(w.bias.defined() ? c10::IValue(w.bias) : c10::IValue());
    put(c10::IValue(qnnpack));
  }

  // Rows of integers, each followed by its scale and bias, as they are packed.
  void table(const c10::IValue &packed) {
    const auto base = packed.toCustomClass<EmbeddingPackedParamsBase>();
    const auto *own = dynamic_cast<const PackedEmbeddingBagWeight *>(base.get());
    if (!own) throw Unsupported("this torch does not support packed embeddings of this kind");
    put(c10::IValue(own->packed_w));
  }

  void convolution(const c10::IValue &packed, const std::string &name) {
    const bool transposed = call("quantized::" + name + "_transpose", packed).at(0).toInt() != 0;
    const auto parts = call("quantized::" + name + "_unpack", packed);
    const int64_t groups = call("quantized::" + name + "_groups", packed).at(0).toInt();
    Weight w = weight_of(parts.at(0).toTensor(), parts.at(1), transposed ? 1 : 0);
    if (transposed) w = turned(w, groups);
    put(w, is_qnnpack() && name == "conv2d");  // other weights of qnnpack cannot be unpacked
    for (const char *list : {"_stride", "_padding", "_dilation", "_output_padding"})
      put(call("quantized::" + name + list, packed).at(0));
    put(c10::IValue(groups));
    put(c10::IValue(transposed));
  }

  // [inputs, outputs / groups, ...] as [outputs, inputs / groups, ...].
  static Weight turned(Weight w, int64_t groups) {
    std::vector<int64_t> sizes = w.integers.sizes().vec();
    const int64_t inputs = sizes[0] / groups, outputs = sizes[1];
    std::vector<int64_t> parted = sizes, joined = sizes;
    parted[0] = inputs;
    parted.insert(parted.begin(), groups);
    joined[0] = outputs * groups;
    joined[1] = inputs;
    w.integers = w.integers.reshape(parted).transpose(1, 2).reshape(joined).contiguous();
    w.scales = w.scales.repeat({groups});
    w.zero_points = w.zero_points.repeat({groups});
    return w;
  }

  // Recurrent layers: for each layer and direction the weights of the input, then those of the state.
  void cells(const std::vector<c10::IValue> &objects) {
    std::vector<at::Tensor> integers, scales, zero_points, biases;
    bool reduced = false;
    for (const c10::IValue &object : objects) {
      const auto state = object.toObject()->type()->getMethod("__getstate__")({object}).toTuple();
      if (state->elements().at(0).toStringRef() != "quantized_dynamic")
        throw Unsupported("quantized recurrent layers must be quantized_dynamic, got " +
                          state->elements().at(0).toStringRef() +
                          ": quantize them dynamically with dtype=torch.qint8");
      for (const int64_t flag : state->elements().at(3).toIntVector()) reduced |= flag != 0;
      for (const c10::IValue &packed : state->elements().at(4).toListRef()) {
        const Weight w = linear_weight(packed);
        integers.push_back(w.integers.flatten());
        scales.push_back(w.scales.to(at::kFloat));
        zero_points.push_back(w.zero_points);
        biases.push_back(w.bias.defined() ? w.bias : at::zeros({w.integers.size(0)}));
      }
    }
    for (const auto &tensors : {integers, scales, zero_points, biases})
      put(c10::IValue(at::cat(tensors)));
    put(c10::IValue(is_qnnpack()));
    put(c10::IValue(reduced));
  }

  jit::Node *node_;
  std::vector<jit::Value *> *out_;
};

}  // namespace

bool is_qnnpack() {
  return at::globalContext().qEngine() == at::QEngine::QNNPACK;
}

std::vector<jit::Value *> unpacked_inputs(jit::Node *node) {
  std::vector<jit::Value *> out;
  Splice splice(node, &out);
  for (jit::Value *v : node->inputs())
    if (!splice(v)) out.push_back(v);
  return out;
}

}  // namespace rush
