#include "ir/alias.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/schema.h"

namespace rush {

// This is the only list of these operators. libtorch's schemas do not suffice: they do not mention
// COPY.
Passing passing(const std::string &op) {
  static const std::unordered_map<std::string, Passing> ops = {
      {"prim::ListConstruct", Passing::CONTENTS},
      {"prim::TupleConstruct", Passing::CONTENTS},
      {"prim::DictConstruct", Passing::CONTENTS},
      {"prim::ListUnpack", Passing::CONTENTS},
      {"prim::TupleUnpack", Passing::CONTENTS},
      {"prim::TupleIndex", Passing::CONTENTS},
      {"prim::unchecked_cast", Passing::CONTENTS},
      {"prim::unchecked_unwrap_optional", Passing::CONTENTS},
      {"aten::requires_grad_", Passing::SAME},
      {"aten::detach_", Passing::SAME},
      {"aten::detach", Passing::ALIAS},
      {"aten::alias", Passing::ALIAS},
      {"aten::lift", Passing::SAME},
      {"aten::lift_fresh", Passing::SAME},
      {"aten::cpu", Passing::SAME},
      {"prim::data", Passing::ALIAS},
      {"aten::_unsafe_view", Passing::PERHAPS},
      {"aten::atleast_1d", Passing::PERHAPS},
      {"aten::atleast_2d", Passing::PERHAPS},
      {"aten::atleast_3d", Passing::PERHAPS},
      {"aten::broadcast_tensors", Passing::PERHAPS},
      {"aten::cartesian_prod", Passing::PERHAPS},
      {"aten::conj_physical", Passing::PERHAPS},
      {"aten::dropout", Passing::PERHAPS},
      {"aten::feature_dropout", Passing::PERHAPS},
      {"aten::alpha_dropout", Passing::PERHAPS},
      {"aten::feature_alpha_dropout", Passing::PERHAPS},
      {"aten::einsum", Passing::PERHAPS},
      {"aten::meshgrid", Passing::PERHAPS},
      {"aten::sum_to_size", Passing::PERHAPS},
      {"aten::type_as", Passing::PERHAPS},
      {"aten::unsafe_chunk", Passing::PERHAPS},
      {"aten::unsafe_split", Passing::PERHAPS},
      {"aten::unsafe_split_with_sizes", Passing::PERHAPS}};
  const auto found = ops.find(base_name(op));
  return found == ops.end() ? Passing::NONE : found->second;
}

namespace {

bool only_reads(const std::string &op) {
  static const std::unordered_set<std::string> ops = {
      "prim::Print", "prim::RaiseException", "prim::isinstance", "prim::tolist", "prim::Constant"};
  return ops.count(op) != 0;
}

// Training-mode batch norm updates running_mean and running_var; its schema does not say so.
bool writes_undeclared(const Node &node, size_t input) {
  if (node.op != "aten::batch_norm" && node.op != "aten::native_batch_norm" &&
      node.op != "aten::instance_norm")
    return false;
  const Const *training = node.constant(5);
  return (input == 3 || input == 4) && !(training && training->is_bool() && !training->i);
}

class Walk {
 public:
  Fate fate;

  void from(const Value *value) {
    if (!is_mutable(*value->type) || !seen_.insert(value).second) return;
    for (const Use &use : value->uses) {
      follow(*use.node, use.index);
    }
  }

 private:
  void give_up() { fate.written = fate.escapes = fate.returned = true; }
  void to_outputs(const Node &node) {
    for (const Value *v : node.outputs) from(v);
  }

  void follow(const Node &node, size_t i) {
    if (node.op == "return") return leave_block(node, i);
    if (node.op == "prim::If") return;
    if (node.op == "prim::Loop") {
      if (i < 2) return;
      from(node.outputs[i - 2]);
      from(node.blocks[0]->params[i - 1]);
      return;
    }
    if (passing(node.op) != Passing::NONE) return to_outputs(node);
    if (only_reads(node.op)) return;
    const Schema *schema = schema_of(node.op);
    if (!schema || !schema->trusted) return give_up();
    if (schema->variadic || i >= schema->args.size()) return;  // such as aten::format
    if (writes_undeclared(node, i)) fate.written = true;
    const std::optional<AliasSet> &alias = schema->args[i].alias;
    if (node.op == "rush::set_attr") {
      fate.escapes = true;
      fate.slots.insert(node.constant(0)->i);
      return;
    }
    if (!alias) return;
    if (alias->write) fate.written = true;
    // The value is stored in a written argument (append), or in a list that is a result (chunk).
    if (alias->wildcard && writes(*schema)) return give_up();
    const std::vector<std::string> &sets = alias->wildcard ? alias->before : alias->after;
    for (size_t r = 0; r < schema->returns.size() && r < node.outputs.size(); r++) {
      const std::optional<AliasSet> &out = schema->returns[r].alias;
      if (!out) continue;
      bool shares = out->wildcard;  // an item comes out of a container
      for (const std::string &set : sets)
        shares |= std::find(out->before.begin(), out->before.end(), set) != out->before.end();
      if (shares) from(node.outputs[r]);
    }
  }

  void leave_block(const Node &results, size_t i) {
    const Node *owner = results.block->owner;
    if (!owner) {
      fate.escapes = fate.returned = true;
    } else if (owner->op == "prim::If") {
      from(owner->outputs[i]);
    } else if (i > 0) {  // a loop: the next iteration's parameter, or the result
      from(owner->outputs[i - 1]);
      from(results.block->params[i]);
    }
  }

  std::unordered_set<const Value *> seen_;
};

}  // namespace

Fate fate_of(const Value *value) {
  Walk walk;
  walk.from(value);
  return walk.fate;
}

bool is_fresh(const Value *value) {
  if (!value->def || passing(value->def->op) != Passing::NONE) return false;
  const Schema *schema = schema_of(value->def->op);
  return schema && schema->trusted && !schema->variadic && value->index < schema->returns.size() &&
         !schema->returns[value->index].alias;
}

bool has_side_effects(const Node &node) {
  for (const auto &block : node.blocks)
    for (const auto &inner : block->nodes)
      if (has_side_effects(*inner)) return true;
  if (node.op == "prim::If" || node.op == "prim::Loop") return false;
  if (node.op == "prim::Print" || node.op == "prim::RaiseException" || node.op == "aten::warn")
    return true;
  if (node.op == "rush::set_attr") return true;
  if (node.op == "prim::Uninitialized" || node.op == "prim::isinstance") return false;
  if (passing(node.op) == Passing::CONTENTS) {
    // Unpacking raises if the number of items differs.
    return node.op == "prim::ListUnpack";
  }
  const Schema *schema = schema_of(node.op);
  if (!schema || !schema->trusted || schema->random || node.outputs.empty()) return true;
  if (writes_undeclared(node, 3) && node.inputs.size() > 3) return true;
  return writes(*schema);
}

}  // namespace rush
