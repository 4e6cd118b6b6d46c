// Splits operators that write their result into an argument into the operator and a copy.
#include <algorithm>

#include "ir/schema.h"
#include "passes/passes.h"
#include "rushlight/rushlight.h"

namespace rush {

namespace {

size_t out_count(const Schema &schema) {
  return static_cast<size_t>(std::count_if(schema.args.begin(), schema.args.end(),
                                           [](const Argument &a) { return a.out; }));
}

bool is_written(const Argument &arg) {
  return arg.alias && arg.alias->write;
}

// Options of tensor factories that out= decides.
bool is_option(const Argument &arg) {
  return arg.name == "dtype" || arg.name == "layout" || arg.name == "device" ||
         arg.name == "pin_memory";
}

// Returns whether `other` writes only its state (running means) and has the same arguments, except
// for out= and, with `without_options`, those that out= decides.
bool is_functional_form(const Schema &schema, const Schema &other, bool without_options) {
  const size_t n = schema.args.size() - out_count(schema);
  size_t i = 0;
  for (const Argument &arg : other.args) {
    if (without_options && is_option(arg)) continue;
    if (i == n || arg.name != schema.args[i].name || !equal(*arg.type, *schema.args[i].type) ||
        schema.args[i].out || (is_written(arg) && (i == 0 || !is_written(schema.args[i]))))
      return false;
    i++;
  }
  return i == n && other.returns.size() == schema.returns.size();
}

// Returns the functional operator of this name; "" if torch has none.
std::string functional_form(const Schema &schema, const std::string &name,
                            bool without_options = false) {
  for (const std::string &op : overloads_of(name)) {
    const Schema *other = schema_of(op);
    if (other && is_functional_form(schema, *other, without_options)) return op;
  }
  return "";
}

// Returns the inputs of the functional form: the node's own, and the dtype of the written tensor.
void add_inputs(const Node &node, const Schema &schema, Node *plain) {
  Graph &graph = *node.block->graph;
  size_t given = 0;
  const Schema &functional = *schema_of(plain->op);
  const size_t n = schema.args.size() - out_count(schema);
  const bool with_options = functional.args.size() > n;
  for (const Argument &arg : functional.args) {
    if (!with_options || !is_option(arg)) {
      plain->add_input(node.input(given++));
    } else if (arg.name == "dtype") {
      Node *dtype = graph.insert_before(plain, "prim::dtype");
      dtype->add_input(node.input(n));
      plain->add_input(dtype->add_output(make_type(RUSH_TYPE_INT)));
    } else {
      plain->add_input(graph.constant(const_none()));
    }
  }
}

}  // namespace

bool split_out(Graph &graph) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) {
    const Schema *schema = schema_of(node->op);
    if (!schema || node->inputs.size() != schema->args.size()) continue;
    if (schema->random)
      continue;  // the layout of the written tensor decides the order of the numbers
    const size_t n_out = out_count(*schema);
    if (n_out == 0 || node->outputs.size() != n_out) continue;
    std::string functional = functional_form(*schema, schema->name);
    if (functional.empty()) functional = functional_form(*schema, schema->name, true);
    if (functional.empty()) continue;
    const size_t n = node->inputs.size() - n_out;
    Node *plain = graph.insert_before(node, functional);
    add_inputs(*node, *schema, plain);
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

bool split_in_place(Graph &graph) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) {
    const Schema *schema = schema_of(node->op);
    if (!schema || schema->random || rush_has_op(node->op.c_str())) continue;
    if (node->inputs.size() != schema->args.size() || node->outputs.size() != 1) continue;
    const std::string &name = schema->name;
    if (name.rfind("aten::", 0) != 0 || name.back() != '_' || out_count(*schema) != 0) continue;
    const std::string functional = functional_form(*schema, name.substr(0, name.size() - 1));
    if (functional.empty()) continue;
    Node *plain = graph.insert_before(node, functional);
    for (Value *v : node->inputs) plain->add_input(v);
    Node *copy = graph.insert_before(node, "rush::copy_in_place");
    copy->add_input(node->input(0));
    copy->add_input(plain->add_output(tensor_type()));
    copy->source.handle = node->source.handle;
    node->output()->replace_all_uses_with(copy->add_output(tensor_type(), node->output()->name));
    node->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace rush
