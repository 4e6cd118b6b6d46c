// Objects of the program's classes that are attributes of modules.
#include <cstring>

#include "front/from_c10.h"
#include "front/torchscript_parts.h"
#include "ir/unsupported.h"

namespace rush {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace attr = c10::attr;

namespace {

class Scan {
 public:
  explicit Scan(std::set<const void *> *found) : found_(found) {}

  void graph(const jit::Module &self, const jit::Graph &graph) {
    known_[graph.inputs()[0]] = self._ivalue();
    block(*graph.block());
  }

 private:
  const c10::IValue *known(const jit::Value *v) const {
    auto at = known_.find(v);
    return at == known_.end() ? nullptr : &at->second;
  }

  void is_value(const c10::IValue &v) {
    if (v.isObject() && is_program_class(v.toObject()->type())) found_->insert(v.toObject().get());
  }

  void block(const jit::Block &block) {
    for (const jit::Node *n : block.nodes()) node(*n);
    for (const jit::Value *v : block.outputs())
      if (known(v)) is_value(*known(v));
  }

  void node(const jit::Node &n) {
    if (n.kind() == prim::Constant) {
      auto constant = jit::toIValue(n.output());
      if (constant && constant->isObject()) known_[n.output()] = *constant;
      return;
    }
    const bool attribute = n.kind() == prim::GetAttr || n.kind() == prim::SetAttr;
    const c10::IValue *owner = attribute ? known(n.inputs()[0]) : nullptr;
    for (size_t i = attribute ? 1 : 0; i < n.inputs().size(); i++)
      if (known(n.inputs()[i])) is_value(*known(n.inputs()[i]));
    if (owner) {
      c10::IValue held = owner->toObject()->getAttr(n.s(attr::name));
      if (n.kind() == prim::SetAttr)
        is_value(held);
      else if (held.isObject() && n.output()->type()->cast<c10::ClassType>())
        known_[n.output()] = std::move(held);
    }
    for (const jit::Block *b : n.blocks()) block(*b);
  }

  std::set<const void *> *found_;
  std::unordered_map<const jit::Value *, c10::IValue> known_;
};

// Visits the value and all values inside it once. (getSubValues refuses the packed weights of
// quantized modules.)
template <class Visit>
void for_each_inside(const c10::IValue &value, Visit visit) {
  c10::IValue::HashAliasedIValues seen;
  value.visit([&](const c10::IValue &v) {
    if (!seen.insert(v).second) return true;
    visit(v);
    return false;
  });
}

}  // namespace

std::set<const void *> objects_as_values(const jit::Module &self,
                                         const std::vector<const jit::Graph *> &graphs) {
  std::set<const void *> found;
  for (const jit::Graph *graph : graphs) Scan(&found).graph(self, *graph);
  return found;
}

bool holds_objects(const c10::IValue &value) {
  if (!value.isObject() && !value.isList() && !value.isTuple() && !value.isGenericDict())
    return false;
  bool found = false;
  for_each_inside(value, [&](const c10::IValue &v) {
    found = found || (v.isObject() && is_program_class(v.toObject()->type()));
  });
  return found;
}

std::string packed_class(const c10::IValue &value) {
  std::string out;
  for_each_inside(value, [&](const c10::IValue &v) {
    const std::string name = v.isObject() ? v.toObject()->type()->annotation_str() : "";
    for (const char *start : {"__torch__.torch.classes.quantized.", "__torch__.torch.classes.rnn."})
      if (name.rfind(start, 0) == 0) out = name.substr(std::strlen(start));
  });
  return out;
}

std::string identity(const c10::IValue &value) {
  return std::to_string(c10::IValue::HashAliasedIValue()(value));
}

void refuse_shared(const c10::IValue &value, const std::string &attribute, Contents *contents) {
  for_each_inside(value, [&](const c10::IValue &v) {
    if (!v.isList() && !v.isGenericDict() && !v.isObject()) return;
    auto [at, is_new] = contents->emplace(v, attribute);
    if (!is_new)
      throw Unsupported("the attributes '" + at->second + "' and '" + attribute +
                        "' hold the same " + (v.isObject() ? "object" : "list or dict") +
                        ", whose changes only one of them would see: give each a copy");
  });
}

void refuse_own_classes(const Type &type, const std::string &what) {
  if (type.kind == RUSH_TYPE_OBJECT || type.kind == RUSH_TYPE_ENUM)
    throw Unsupported(what + " must not be of the program's own type " + to_string(type) +
                      ": pass its attributes (the name or value of an enum)");
  for (const TypeRef &item : type.items) refuse_own_classes(*item, what);
}

}  // namespace rush
