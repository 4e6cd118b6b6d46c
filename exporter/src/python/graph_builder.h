// A front in Python builds a program with this, node by node.
#pragma once

#include <unordered_set>

#include "ir/program.h"
#include "python/values.h"

namespace rush {

// A type for Python.
struct PythonType {
  TypeRef type;
};

class GraphBuilder {
 public:
  Value *input(const PythonType &type, const std::string &name);
  Value *constant(py::handle value) { return graph_->constant(plain(value)); }
  // The value of a new attribute. It is state until a pass finds that nothing writes it.
  Value *attribute(const std::string &name, at::Tensor tensor);

  // A node and its results: one value, or a list of another number. Python may write types as text. What the schema says casts the
  // arguments (values, or constants of Python's, in its order) and gives the results' types, where
  // `types` is None.
  py::object node(const std::string &op, const py::list &args, const py::object &types,
                  const std::string &name);

  // A node with blocks: begin, then block and leave for each, then end.
  void begin(const std::string &op, const py::list &args);
  py::list block(const std::vector<PythonType> &types, const std::string &name);
  void leave(const py::list &results);
  py::list end(const std::vector<PythonType> &types, const std::string &name);

  // The source of the next nodes: (file, line, function, module), or None.
  py::object source() const { return source_; }
  void set_source(const py::object &source);
  // Gives a debug handle to the one node with these results, if it has none yet.
  void mark(const py::list &results, uint64_t handle);

  void set_result(Value *value) { graph_->top.results.add_input(value); }
  // An attribute or an input gets the elements of `value` when the method ends.
  void write_back(Value *written, Value *value) { changed_.emplace_back(written, value); }

  // Moves everything into the program.
  void finish(Program *program, Method *method);

 private:
  Const plain(py::handle value) const;
  Value *operand(py::handle value);
  Value *operand(py::handle value, const TypeRef &type, int64_t repeat);
  Value *list_operand(py::handle value, const TypeRef &type, int64_t repeat);
  Value *cast(Value *value, const Type &type);
  Value *append(const std::string &op, std::vector<Value *> inputs, TypeRef type);
  Node *append(const std::string &op);
  py::object results_of(Node *node);
  bool is_alone(size_t slot) const;
  void change(Value *written, Value *value);
  bool may_replace(const Value *written, const Value *value) const;

  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  std::vector<Block *> blocks_ = {&graph_->top};  // the open ones
  std::vector<Node *> open_;                      // the nodes of begin()
  std::unordered_set<const Node *> unmarked_;
  std::vector<Attribute> attributes_;
  std::vector<std::pair<Value *, Value *>> changed_;
  py::object source_ = py::none();
  Source at_;
};

void define_graph(py::module_ &module);

}  // namespace rush
