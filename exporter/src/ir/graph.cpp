#include "ir/graph.h"

#include <algorithm>
#include <stdexcept>

namespace rush {

namespace {

void drop_use(Value *value, const Node *node, size_t index) {
  auto &uses = value->uses;
  auto at = std::find_if(uses.begin(), uses.end(),
                         [&](const Use &u) { return u.node == node && u.index == index; });
  if (at == uses.end()) throw std::logic_error("a use of %" + value->name + " was lost");
  uses.erase(at);
}

void drop_inputs(Node *node) {
  for (size_t i = 0; i < node->inputs.size(); i++) drop_use(node->inputs[i], node, i);
  node->inputs.clear();
}

// Removes all uses in a block, so that the block can be destroyed.
void clear(Block *block) {
  drop_inputs(&block->results);
  for (auto it = block->nodes.rbegin(); it != block->nodes.rend(); ++it) {
    for (auto &inner : (*it)->blocks) clear(inner.get());
    drop_inputs(it->get());
  }
}

}  // namespace

void Value::replace_all_uses_with(Value *other) {
  if (other == this) return;
  for (const Use &use : uses) {
    use.node->inputs[use.index] = other;
    other->uses.push_back(use);
  }
  uses.clear();
}

bool Node::has_uses() const {
  for (const Value *v : outputs)
    if (!v->uses.empty()) return true;
  return false;
}

void Node::add_input(Value *value) {
  value->uses.push_back({this, inputs.size()});
  inputs.push_back(value);
}

void Node::set_input(size_t i, Value *value) {
  drop_use(inputs.at(i), this, i);
  inputs[i] = value;
  value->uses.push_back({this, i});
}

void Node::remove_inputs_from(size_t i) {
  while (inputs.size() > i) {
    drop_use(inputs.back(), this, inputs.size() - 1);
    inputs.pop_back();
  }
}

Value *Node::add_output(TypeRef type, std::string name) {
  Value *value = block->graph->new_value(std::move(type), std::move(name));
  value->def = this;
  value->index = outputs.size();
  outputs.push_back(value);
  return value;
}

Block *Node::add_block() {
  blocks.push_back(std::make_unique<Block>(block->graph, this));
  return blocks.back().get();
}

void Node::destroy() {
  if (has_uses()) throw std::logic_error(op + " is destroyed while its results are used");
  for (auto &inner : blocks) clear(inner.get());
  drop_inputs(this);
  for (Value *v : outputs) v->def = nullptr;
  block->nodes.erase(place);
}

void Node::replace_by(Node *successor) {
  for (size_t i = 0; i < successor->outputs.size(); i++) {
    output(i)->replace_all_uses_with(successor->output(i));
    successor->output(i)->name = output(i)->name;
  }
  successor->source.handle = source.handle;
  destroy();
}

Value *Block::add_param(TypeRef type, std::string name) {
  Value *value = graph->new_value(std::move(type), std::move(name));
  value->param = this;
  value->index = params.size();
  params.push_back(value);
  return value;
}

Node *Block::append(std::string op) {
  nodes.push_back(std::make_unique<Node>());
  Node *node = nodes.back().get();
  node->op = std::move(op);
  node->block = this;
  node->place = std::prev(nodes.end());
  return node;
}

Value *Graph::new_value(TypeRef type, std::string value_name) {
  values.emplace_back();
  Value *value = &values.back();
  value->type = std::move(type);
  value->name = std::move(value_name);
  return value;
}

Value *Graph::constant(Const value) {
  Value *v = new_value(type_of(value));
  v->constant = std::make_shared<const Const>(std::move(value));
  return v;
}

Node *Graph::insert_before(Node *where, std::string op) {
  Block *block = where->block;
  auto at = block->nodes.insert(where == &block->results ? block->nodes.end() : where->place,
                                std::make_unique<Node>());
  Node *node = at->get();
  node->op = std::move(op);
  node->block = block;
  node->place = at;
  node->source = where->source;
  node->source.handle = 0;
  return node;
}

namespace {

void collect(const Block &block, std::vector<Node *> *out) {
  for (const auto &node : block.nodes) {
    out->push_back(node.get());
    for (const auto &inner : node->blocks) collect(*inner, out);
  }
}

}  // namespace

std::vector<Node *> all_nodes(const Graph &graph) {
  std::vector<Node *> out;
  collect(graph.top, &out);
  return out;
}

Value *insert_call(Node *where, const char *op, const std::vector<Value *> &inputs,
                   const TypeRef &type) {
  Node *created = where->block->graph->insert_before(where, op);
  for (Value *v : inputs) created->add_input(v);
  return created->add_output(type);
}

}  // namespace rush
