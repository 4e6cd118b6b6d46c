// Calls that a graph has for a while.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace rush {

// Inserts calls, and removes them at the end.
class InsertedCalls {
 public:
  InsertedCalls() = default;
  ~InsertedCalls() {
    for (auto at = nodes_.rbegin(); at != nodes_.rend(); ++at) (*at)->destroy();
  }
  InsertedCalls(const InsertedCalls &) = delete;

  // Returns the result of a call before a node.
  Value *before(Node *node, const char *op, const std::vector<Value *> &inputs) {
    Value *created = insert_call(node, op, inputs);
    nodes_.push_back(created->def);
    return created;
  }

  // Copies a value before a node, as it or a later one may write it.
  Value *copy_before(Node *node, Value *v) {
    return before(node, "aten::clone", {v, node->block->graph->constant(const_none())});
  }

 private:
  std::vector<Node *> nodes_;
};

}  // namespace rush
