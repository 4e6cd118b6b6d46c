#include <algorithm>

#include "ir/schema.h"
#include "passes/passes.h"

namespace rush {

namespace {

size_t out_count(const Schema &schema) {
  return static_cast<size_t>(std::count_if(schema.args.begin(), schema.args.end(),
                                           [](const Argument &a) { return a.out; }));
}

// The same operator without its out arguments; "" where torch has none.
std::string functional_form(const Schema &schema) {
  for (const std::string &op : overloads_of(schema.name)) {
    const Schema *other = schema_of(op);
    if (!other || writes(*other) || other->returns.size() != out_count(schema)) continue;
    size_t n = schema.args.size() - out_count(schema);
    bool equal_args = other->args.size() == n;
    for (size_t i = 0; equal_args && i < n; i++)
      equal_args = other->args[i].name == schema.args[i].name &&
                   equal(*other->args[i].type, *schema.args[i].type) && !schema.args[i].out;
    if (equal_args) return op;
  }
  return "";
}

}  // namespace

bool split_out(Graph &graph) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) {
    const Schema *schema = schema_of(node->op);
    if (!schema || node->inputs.size() != schema->args.size()) continue;
    if (schema->random) continue;  // the layout of what is written decides the order of the numbers
    const size_t n_out = out_count(*schema);
    if (n_out == 0 || node->outputs.size() != n_out) continue;
    const std::string functional = functional_form(*schema);
    if (functional.empty()) continue;
    const size_t n = node->inputs.size() - n_out;
    Node *plain = graph.insert_before(node, functional);
    for (size_t i = 0; i < n; i++) plain->add_input(node->input(i));
    for (size_t i = 0; i < n_out; i++) plain->add_output(tensor_type());
    for (size_t i = 0; i < n_out; i++) {
      Node *copy = graph.insert_before(node, "rush::copy_out");
      copy->add_input(node->input(n + i));
      copy->add_input(plain->output(i));
      if (n_out == 1) copy->source.handle = node->source.handle;
      node->output(i)->replace_all_uses_with(
          copy->add_output(tensor_type(), node->output(i)->name));
    }
    node->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace rush
