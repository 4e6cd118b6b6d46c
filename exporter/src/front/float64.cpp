// Makes a graph compute in float64: the same operators on wider tensors. Its result is almost exact,
// and shows how far rounding takes PyTorch's own answer.
#include <c10/core/DefaultDtype.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/shape_analysis.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <stdexcept>

#include "front/torchscript_parts.h"

namespace rush {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace aten = c10::aten;
namespace attr = c10::attr;

at::ScalarType wide(at::ScalarType dtype) {
  if (c10::isComplexType(dtype)) return at::kComplexDouble;
  return at::isFloatingType(dtype) ? at::kDouble : dtype;
}

namespace {

// rushlight::wide_dtype(Any dtype) -> Any: an int that is a dtype, or None.
void wide_dtype(jit::Stack &stack) {
  const c10::IValue dtype = jit::pop(stack);
  if (!dtype.isInt())
    stack.push_back(dtype);
  else
    stack.emplace_back(static_cast<int64_t>(wide(static_cast<at::ScalarType>(dtype.toInt()))));
}

c10::Symbol wide_dtype_symbol() {
  static const jit::RegisterOperators registered(
      {jit::Operator("rushlight::wide_dtype(Any dtype) -> Any", wide_dtype,
                     c10::AliasAnalysisKind::PURE_FUNCTION)});
  return c10::Symbol::fromQualString("rushlight::wide_dtype");
}

bool is_dtype(const c10::Argument &arg) {
  c10::TypePtr type = arg.real_type();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return type->kind() == c10::TypeKind::ScalarTypeType;
}

void widen_input(jit::Node *node, size_t i) {
  jit::WithInsertPoint before(node);
  jit::Node *wider = node->owningGraph()->create(wide_dtype_symbol(), 1);
  wider->addInput(node->input(i));
  wider->output()->setType(node->input(i)->type());
  node->owningGraph()->insertNode(wider);
  node->replaceInput(i, wider->output());
}

bool holds_tensors(const c10::IValue &value) {
  bool found = false;
  value.visit([&](const c10::IValue &v) {
    found |= v.isTensor() && v.toTensor().defined();
    return found;
  });
  return found;
}

void widen_constant(jit::Node *node) {
  const auto value = jit::toIValue(node->output());
  if (!value || !holds_tensors(*value)) return;
  const c10::IValue wider = in_double(*value);
  jit::WithInsertPoint before(node);
  const auto constant = jit::tryInsertConstant(*node->owningGraph(), wider);
  if (!constant) throw std::invalid_argument("it has a constant without a float64 form");
  (*constant)->setType(value->isTensor() ? c10::TensorType::get() : node->output()->type());
  node->output()->replaceAllUsesWith(*constant);
}

// x.dtype == torch.float32
bool compares_dtypes(const jit::Node &node) {
  if (node.kind() != aten::eq && node.kind() != aten::ne) return false;
  for (const jit::Value *v : node.inputs())
    if (v->node()->kind() == prim::dtype) return true;
  return false;
}

void widen_node(jit::Node *node) {
  if (node->kind() == prim::Constant) return widen_constant(node);
  if (compares_dtypes(*node))
    for (size_t i = 0; i < 2; i++) widen_input(node, i);
  const c10::FunctionSchema *schema = node->maybeSchema();
  if (!schema) return;
  if (node->kind() == aten::view && schema->overload_name() == "dtype")
    throw std::invalid_argument("the program reads the bits of numbers (view)");
  for (size_t i = 0; i < schema->arguments().size() && i < node->inputs().size(); i++)
    if (is_dtype(schema->arguments()[i])) widen_input(node, i);
}

void widen_block(jit::Block *block) {
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    jit::Node *node = *it++;
    widen_node(node);
    for (jit::Block *inner : node->blocks()) widen_block(inner);
  }
}

}  // namespace

void widen(jit::Graph &graph) {
  inline_calls_and_forks(graph);
  jit::EraseShapeInformation(graph.shared_from_this());
  widen_block(graph.block());
}

DoubleByDefault::DoubleByDefault(bool on) : before_(c10::get_default_dtype()) {
  if (on) c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
}

DoubleByDefault::~DoubleByDefault() {
  c10::set_default_dtype(before_);
}

}  // namespace rush
