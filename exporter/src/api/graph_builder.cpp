#include "api/graph_builder.h"

#include <algorithm>
#include <stdexcept>

#include "api/values.h"
#include "ir/alias.h"
#include "ir/schema.h"
#include "ir/unsupported.h"

namespace rush {

namespace {

std::string name_at(const Json &names, size_t i) {
  return names.kind == Json::TEXT ? names.s : names.list().at(i).text();
}

bool holds_tensors(const Type &type) {
  return type.kind == RUSH_TYPE_TENSOR ||
         std::any_of(type.items.begin(), type.items.end(),
                     [](const TypeRef &item) { return holds_tensors(*item); });
}

// Returns a constant. A dtype is its number, as in schemas.
Const plain(const Json &value) {
  const Json *name = value.find("dtype");
  if (!name) return const_of(value);
  if (const auto dtype = find_dtype(name->text())) return const_int(*dtype);
  throw Unsupported("torch." + name->text() + " cannot be exported");
}

// Returns the operator whose schema the program of an operator has: "aten::conv2d.padding" for
// "aten::conv2d.padding_of_complex".
std::string for_any_dtype(const std::string &op) {
  const std::string overload = overload_name(op);
  const size_t at = overload.rfind("of_complex");
  if (at == std::string::npos) return op;
  return base_name(op) + (at == 0 ? "" : "." + overload.substr(0, at - 1));
}

bool is_tensor(const Json &value) {
  return value.find("tensor") || value.find("foreign");
}

// Returns the items of a list or a tuple; nullptr for other operands.
const Json *items_of(const Json &value) {
  return value.kind == Json::LIST ? &value : value.find("tuple");
}

}  // namespace

// ---- values

size_t GraphBuilder::number(Value *value) {
  values_.push_back(value);
  return values_.size() - 1;
}

std::vector<size_t> GraphBuilder::numbers(const std::vector<Value *> &values) {
  std::vector<size_t> out;
  for (Value *v : values) out.push_back(number(v));
  return out;
}

size_t GraphBuilder::constant(const Json &value) {
  return number(graph_->constant(plain(value)));
}

size_t GraphBuilder::typed_constant(const Json &value, const TypeRef &type) {
  Value *created = graph_->constant(const_of(value));
  if (type) created->type = type;
  return number(created);
}

// ---- operands

Value *GraphBuilder::operand(const Json &value) {
  if (const Json *index = value.find("value")) return at(static_cast<size_t>(index->integer()));
  return is_tensor(value) ? add_attribute("", value) : graph_->constant(plain(value));
}

Value *GraphBuilder::operand(const Json &value, const TypeRef &type, int64_t repeat) {
  if (type->kind == RUSH_TYPE_OPTIONAL)
    return value.is_none() ? operand(value) : operand(value, type->items[0], repeat);
  if (type->kind == RUSH_TYPE_LIST && !value.find("value"))
    return list_operand(value, type, repeat);
  return cast(operand(value), *type);
}

// A list value, or one value for each of its items.
Value *GraphBuilder::list_operand(const Json &value, const TypeRef &type, int64_t repeat) {
  std::vector<Value *> items;
  if (const Json *list = items_of(value))
    for (const Json &item : list->list()) items.push_back(operand(item, type->items[0], 1));
  else
    for (int64_t i = 0; i < repeat; i++) items.push_back(operand(value, type->items[0], 1));
  const bool constant =
      std::all_of(items.begin(), items.end(), [](const Value *v) { return v->is_constant(); });
  if (!constant || holds_tensors(*type)) return append("prim::ListConstruct", items, type);
  std::vector<Const> constants;
  for (const Value *item : items) constants.push_back(*item->constant);
  return graph_->constant(const_list(type->items[0], std::move(constants)));
}

std::vector<Value *> GraphBuilder::operands(const Json &args) {
  std::vector<Value *> out;
  for (const Json &arg : args.list()) out.push_back(operand(arg));
  return out;
}

// Converts a number to the type of the schema.
Value *GraphBuilder::cast(Value *value, const Type &type) {
  const rush_type_kind from = value->type->kind;
  const bool whole = type.kind == RUSH_TYPE_FLOAT && from == RUSH_TYPE_INT;
  if (whole && value->is_constant())
    return graph_->constant(const_float(value->constant->number()));
  if (from != RUSH_TYPE_NUMBER && !whole) return value;
  if (type.kind == RUSH_TYPE_FLOAT)
    return append("aten::Float.Scalar", {value}, make_type(RUSH_TYPE_FLOAT));
  if (type.kind == RUSH_TYPE_INT)
    return append("aten::Int.Scalar", {value}, make_type(RUSH_TYPE_INT));
  return value;
}

// ---- nodes

Node *GraphBuilder::append(const std::string &op) {
  Node *node = blocks_.back()->append(op);
  node->source = at_;
  unmarked_.insert(node);
  return node;
}

Value *GraphBuilder::append(const std::string &op, std::vector<Value *> inputs, TypeRef type) {
  Node *node = append(op);
  for (Value *v : inputs) node->add_input(v);
  return node->add_output(std::move(type));
}

std::vector<size_t> GraphBuilder::node(const std::string &op, const Json &args, const Json &types,
                                       const Json &names) {
  const Schema *schema = schema_of(for_any_dtype(op));
  std::vector<Value *> inputs;
  for (const Json &arg : args.list()) {
    const size_t i = inputs.size();
    const bool told = schema && !schema->variadic && i < schema->args.size();
    inputs.push_back(told ? operand(arg, schema->args[i].type, schema->args[i].repeat.value_or(1))
                          : operand(arg));
  }
  Node *node = append(op);
  for (Value *v : inputs) node->add_input(v);
  const auto add = [&](TypeRef type) {
    node->add_output(std::move(type), name_at(names, node->outputs.size()));
  };
  if (!types.is_none())
    for (const Json &type : types.list()) add(type_from(type));
  else if (schema)
    for (const Argument &returned : schema->returns) add(returned.type);
  else
    throw Unsupported("the operator " + op + " has no schema: load the library that registers it");
  return numbers(node->outputs);
}

void GraphBuilder::begin(const std::string &op, const Json &args) {
  const std::vector<Value *> inputs = operands(args);
  open_.push_back(append(op));
  for (Value *v : inputs) open_.back()->add_input(v);
}

std::vector<size_t> GraphBuilder::block(const Json &types, const Json &names) {
  Block *inner = open_.back()->add_block();
  blocks_.push_back(inner);
  for (const Json &type : types.list())
    inner->add_param(type_from(type), name_at(names, inner->params.size()));
  return numbers(inner->params);
}

void GraphBuilder::leave(const Json &results) {
  for (Value *v : operands(results)) blocks_.back()->results.add_input(v);
  blocks_.pop_back();
}

std::vector<size_t> GraphBuilder::end(const Json &types, const Json &names) {
  Node *node = open_.back();
  open_.pop_back();
  for (const Json &type : types.list())
    node->add_output(type_from(type), name_at(names, node->outputs.size()));
  return numbers(node->outputs);
}

void GraphBuilder::mark(const std::vector<size_t> &results, uint64_t handle) {
  std::unordered_set<Node *> nodes;
  bool all = true;
  for (const size_t result : results) {
    Node *node = at(result)->def;
    all &= node && unmarked_.erase(node) + nodes.count(node) > 0;
    if (node) nodes.insert(node);
  }
  if (all && nodes.size() == 1) (*nodes.begin())->source.handle = handle;
}

// ---- the program

size_t GraphBuilder::input(TypeRef type, const std::string &name) {
  return number(graph_->top.add_param(std::move(type), name));
}

size_t GraphBuilder::attribute(const std::string &name, const Json &tensor) {
  return number(add_attribute(name, tensor));
}

size_t GraphBuilder::known_attribute(const std::string &name) {
  size_t slot = 0;
  while (attributes_->at(slot).name != name) slot++;
  return number(read_attribute(slot));
}

Value *GraphBuilder::add_attribute(const std::string &name, const Json &tensor) {
  const size_t slot = attributes_->size();
  const std::string own = name.empty() ? "constant." + std::to_string(slot) : name;
  attributes_->push_back({own, tensor_type(), const_tensor(const_of(tensor).tensor, own)});
  return read_attribute(slot);
}

Value *GraphBuilder::read_attribute(size_t slot) {
  Value *index = graph_->constant(const_int(static_cast<int64_t>(slot)));
  Value *value = append("rush::get_attr", {index}, tensor_type());
  value->name = attributes_->at(slot).name;
  return value;
}

// Whether no other attribute shares its memory.
bool GraphBuilder::is_alone(size_t slot) const {
  auto memory = [&](size_t i) { return attributes_->at(i).initial.tensor.storage_id(); };
  size_t n = 0;
  for (size_t i = 0; i < attributes_->size(); i++) n += memory(i) == memory(slot);
  return n == 1;
}

// Replacing the tensor of an attribute is not visible if nothing else refers to the new one, and
// nothing reads the old one any more.
bool GraphBuilder::may_replace(const Value *written, const Value *value) const {
  return written->def && written->def->op == "rush::get_attr" &&
         is_alone(static_cast<size_t>(written->def->constant(0)->i)) && is_fresh(value) &&
         !fate_of(value).escapes && !fate_of(written).escapes;
}

void GraphBuilder::change(Value *written, Value *value) {
  if (may_replace(written, value)) {
    Node *set = append("rush::set_attr");
    set->add_input(written->def->input(0));
    set->add_input(value);
  } else {
    append("aten::copy_", {written, value, graph_->constant(const_bool(false))}, tensor_type());
  }
}

void GraphBuilder::write_back_all() {
  at_ = {};
  for (auto [written, value] : changed_) change(written, value);
}

void GraphBuilder::finish(Method *method) {
  if (!graph_) throw std::logic_error("finish() must be called once for each graph");
  graph_->name = method->name;
  method->graph = std::move(graph_);
}

}  // namespace rush
