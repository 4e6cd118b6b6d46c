// The exporter's own graph. Every front builds it, every pass works on it, the writer reads it.
//
// A Graph is one method: a tree of Blocks, each an ordered list of Nodes. A Node applies an
// operator (its full name, "aten::add.Tensor") to Values and defines new ones. Control flow is
// nodes with blocks, as in TorchScript:
//   prim::If(cond)                      two blocks without parameters
//   prim::Loop(max_count, cond, c...)   one block: parameters (i, c...), results (cond, c...)
// A block's results are the inputs of its `results` node, which is not in the list. Constants are
// Values without a Node and without a place.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "ir/const.h"

namespace rush {

struct Block;
struct Graph;
struct Node;

struct Use {
  Node *node;
  size_t index;
};

struct Value {
  TypeRef type;
  std::string name;        // PyTorch's debug name, without '%'; may be empty or occur twice
  Node *def = nullptr;     // the node that defines it, or
  Block *param = nullptr;  // the block whose parameter it is, or
  std::shared_ptr<const Const> constant;
  size_t index = 0;  // among its node's outputs or its block's parameters
  std::vector<Use> uses;

  bool is_constant() const { return constant != nullptr; }
  void replace_all_uses_with(Value *other);
};

// The origin of a node.
struct Source {
  std::string file, function, module;  // file: relative or a package's path; "" if unknown
  uint32_t line = 0;
  uint64_t handle = 0;  // of the node in PyTorch's unfrozen graph; 0 if there is none
};

using NodeList = std::list<std::unique_ptr<Node>>;

struct Node {
  std::string op;
  std::vector<Value *> inputs;
  std::vector<Value *> outputs;
  std::vector<std::unique_ptr<Block>> blocks;
  Source source;
  Block *block = nullptr;    // the block that it is in, or whose results it has
  NodeList::iterator place;  // its place there

  Value *input(size_t i) const { return inputs.at(i); }
  Value *output(size_t i = 0) const { return outputs.at(i); }
  // Returns the constant of input i; nullptr if it is not a constant or there is no such input.
  const Const *constant(size_t i) const {
    return i < inputs.size() ? inputs[i]->constant.get() : nullptr;
  }
  bool has_uses() const;

  void add_input(Value *value);
  void set_input(size_t i, Value *value);
  void remove_inputs_from(size_t i);
  Value *add_output(TypeRef type, std::string name = "");
  Block *add_block();

  // Removes and frees the node; its outputs must have no uses.
  void destroy();
  // Does the same, and lets `successor` replace this node: its outputs take over the uses and names
  // of this node's outputs, and it takes over the debug handle.
  void replace_by(Node *successor);
};

struct Block {
  Graph *graph;
  Node *owner;  // nullptr for the top block
  std::vector<Value *> params;
  NodeList nodes;
  Node results;

  Block(Graph *g, Node *o) : graph(g), owner(o) {
    results.op = "return";
    results.block = this;
  }
  Value *add_param(TypeRef type, std::string name = "");
  Node *append(std::string op);
};

struct Graph {
  std::string name = "forward";
  Block top;
  std::deque<Value> values;  // all values ever made; unused ones are not written

  Graph() : top(this, nullptr) {}
  Graph(const Graph &) = delete;

  Value *new_value(TypeRef type, std::string name = "");
  Value *constant(Const value);
  // Inserts a node before `where`, with its source but without the handle.
  Node *insert_before(Node *where, std::string op);
};

// Returns every node in the order of the program, an outer node before those in its blocks. A pass
// may destroy the node that it visits. The list does not contain nodes that the pass inserts.
std::vector<Node *> all_nodes(const Graph &graph);

std::string to_string(const Graph &graph);
// Parses the text of to_string. Weights are invented: <float32[2, 3]> repeats 0, 0.25, 0.5, ... up
// to 1; <float32[2] = 7> holds sevens. Throws std::invalid_argument.
std::unique_ptr<Graph> parse_graph(const std::string &text);

// Inserts a node with one result before `where`, and returns the result.
Value *insert_call(Node *where, const char *op, const std::vector<Value *> &inputs,
                   const TypeRef &type = tensor_type());

}  // namespace rush
