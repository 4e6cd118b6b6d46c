// prim::isinstance that types decide. A function that takes a union asks which of its types came;
// inlined where one of them is known, the branches for the others are dead, and would not fit.
#include "front/torchscript_parts.h"

namespace rush {

namespace jit = torch::jit;
namespace attr = c10::attr;

namespace {

// Whether values of this type may be of several.
bool is_open(const c10::Type &type) {
  using Kind = c10::TypeKind;
  switch (type.kind()) {
    case Kind::NoneType:
    case Kind::TensorType:
    case Kind::IntType:
    case Kind::FloatType:
    case Kind::BoolType:
    case Kind::ComplexType:
    case Kind::StringType:
    case Kind::DeviceObjType:
    case Kind::ListType:
    case Kind::DictType:
    case Kind::TupleType:
    case Kind::EnumType:
    case Kind::ClassType:
      return false;
    default:
      return true;
  }
}

std::optional<bool> answer(const c10::Type &type, const std::vector<c10::TypePtr> &asked) {
  bool open = is_open(type);
  for (const c10::TypePtr &t : asked) {
    if (type.isSubtypeOf(*t)) return true;
    const bool any_of_a_kind =
        t->kind() == c10::TypeKind::AnyListType || t->kind() == c10::TypeKind::AnyTupleType;
    open = open || t->kind() == type.kind() || (is_open(*t) && !any_of_a_kind);
  }
  if (open) return {};
  return false;
}

void fold(jit::Graph &graph, jit::Block *block) {
  for (jit::Node *node : block->nodes()) {
    for (jit::Block *inner : node->blocks()) fold(graph, inner);
    if (node->kind() != c10::prim::isinstance) continue;
    const auto known = answer(*node->input()->type(), node->tys(attr::types));
    if (!known) continue;
    jit::WithInsertPoint before(node);
    node->output()->replaceAllUsesWith(graph.insertConstant(*known));
  }
}

}  // namespace

void fold_isinstance(jit::Graph &graph) {
  fold(graph, graph.block());
}

}  // namespace rush
