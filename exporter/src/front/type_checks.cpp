// Folds checks that types decide: isinstance, `is None`, and the layout of a tensor, which is always strided.
// A function with a union or an optional checks its argument. After inlining the type is known, and the
// branches for other types are dead.
#include "front/from_c10.h"
#include "front/torchscript_parts.h"

namespace rush {

namespace jit = torch::jit;
namespace attr = c10::attr;

namespace {

// Whether values of this type may have several types.
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

// Whether both values are None, if the types tell.
std::optional<bool> are_none(const c10::Type &a, const c10::Type &b) {
  const bool a_is = a.kind() == c10::TypeKind::NoneType, b_is = b.kind() == c10::TypeKind::NoneType;
  if (a_is && b_is) return true;
  if ((a_is && !is_open(b)) || (b_is && !is_open(a))) return false;
  return {};
}

std::optional<bool> answer(const jit::Node &node) {
  if (node.kind() == c10::prim::isinstance)
    return answer(*node.input()->type(), node.tys(attr::types));
  const bool is = node.kind() == c10::aten::__is__;
  if (!is && node.kind() != c10::aten::__isnot__) return {};
  const auto same = are_none(*node.inputs()[0]->type(), *node.inputs()[1]->type());
  if (!same) return {};
  return *same == is;
}

std::optional<c10::IValue> constant(const jit::Node &node) {
  if (node.kind() == c10::prim::layout) return c10::IValue(c10::kStrided);
  const std::string kind = node.kind().toQualString();
  if (kind == "prim::is_sparse" || kind == "prim::is_sparse_csr") return false;
  if (const auto known = answer(node)) return *known;
  return {};
}

bool fold(jit::Graph &graph, jit::Block *block) {
  bool changed = false;
  for (jit::Node *node : block->nodes()) {
    for (jit::Block *inner : node->blocks()) changed |= fold(graph, inner);
    if (node->kind() == c10::prim::unchecked_cast && node->output()->hasUses() &&
        node->input()->type()->isSubtypeOf(*node->output()->type())) {
      node->output()->replaceAllUsesWith(node->input());  // the cast is to a wider type
      changed = true;
    }
    const auto known = constant(*node);
    if (!known || !node->output()->hasUses()) continue;
    jit::WithInsertPoint before(node);
    node->output()->replaceAllUsesWith(graph.insertConstant(*known));
    changed = true;
  }
  return changed;
}

}  // namespace

bool fold_type_checks(jit::Graph &graph) {
  return fold(graph, graph.block());
}

}  // namespace rush
