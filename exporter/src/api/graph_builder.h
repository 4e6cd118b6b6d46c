// A front in Python builds a program with this, node by node.
#pragma once

#include <unordered_set>

#include "api/json.h"
#include "ir/program.h"

namespace rush {

// Operands are values, which are {"value": number}, or constants (api/values.h), of which
// {"dtype": "float32"} is one more. Lists may hold both. Tensors become attributes.
class GraphBuilder {
 public:
  // The graphs of one program share their attributes.
  explicit GraphBuilder(std::shared_ptr<std::vector<Attribute>> attributes)
      : attributes_(std::move(attributes)) {}
  const std::shared_ptr<std::vector<Attribute>> &attributes() const { return attributes_; }

  size_t input(TypeRef type, const std::string &name);
  size_t constant(const Json &value);
  // Returns a constant with a type, unless `type` is nullptr.
  size_t typed_constant(const Json &value, const TypeRef &type);
  // Returns the value of a new attribute. It is state until a pass finds that nothing writes it.
  size_t attribute(const std::string &name, const Json &tensor);
  // Returns the value of an attribute that a graph of the program has.
  size_t known_attribute(const std::string &name);

  // A node and its results. The arguments have the order of the schema, and are cast to its types.
  // If `types` is null, the schema also gives the types of the results. Here and below, `names` is
  // a text for all results, or a list with one for each.
  std::vector<size_t> node(const std::string &op, const Json &args, const Json &types,
                           const Json &names);

  // A node with blocks: begin, then block and leave for each, then end.
  void begin(const std::string &op, const Json &args);
  std::vector<size_t> block(const Json &types, const Json &names);
  void leave(const Json &results);
  std::vector<size_t> end(const Json &types, const Json &names);

  // The source of the next nodes.
  void set_source(Source source) { at_ = std::move(source); }
  // Assigns a debug handle to the one node with these results, if it has none yet.
  void mark(const std::vector<size_t> &results, uint64_t handle);

  void set_result(size_t value) { graph_->top.results.add_input(at(value)); }
  // An attribute or an input gets the elements of `value` when the method ends.
  void write_back(size_t written, size_t value) { changed_.emplace_back(at(written), at(value)); }

  const TypeRef &type_of(size_t value) const { return at(value)->type; }

  // Adds the nodes for write_back().
  void write_back_all();
  // Moves the graph into the method.
  void finish(Method *method);

 private:
  Value *at(size_t value) const { return values_.at(value); }
  size_t number(Value *value);
  std::vector<size_t> numbers(const std::vector<Value *> &values);
  Value *operand(const Json &value);
  Value *operand(const Json &value, const TypeRef &type, int64_t repeat);
  Value *list_operand(const Json &value, const TypeRef &type, int64_t repeat);
  Value *add_attribute(const std::string &name, const Json &tensor);
  std::vector<Value *> operands(const Json &args);
  Value *cast(Value *value, const Type &type);
  Value *append(const std::string &op, std::vector<Value *> inputs, TypeRef type);
  Node *append(const std::string &op);
  Value *read_attribute(size_t slot);
  bool is_alone(size_t slot) const;
  void change(Value *written, Value *value);
  bool may_replace(const Value *written, const Value *value) const;

  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  std::vector<Value *> values_;                   // by number
  std::vector<Block *> blocks_ = {&graph_->top};  // the open ones
  std::vector<Node *> open_;                      // the nodes of begin()
  std::unordered_set<const Node *> unmarked_;
  std::shared_ptr<std::vector<Attribute>> attributes_;
  std::vector<std::pair<Value *, Value *>> changed_;
  Source at_;
};

}  // namespace rush
