// transformers repeats the heads of keys and values by expand() and reshape(), which copies a whole
// cache in each run. rush::repeated_attention reads them without a copy.
#include "passes/match.h"
#include "passes/passes.h"

namespace rush {

namespace {

enum { QUERY, KEY, VALUE, MASK, DROPOUT, CAUSAL, SCALE, GROUPED };

// Expanded heads, and the sizes of their reshape.
struct Repeat {
  Value *expanded, *sizes;
};

bool is_view(const std::string &op) {
  return op == "aten::view" || op == "aten::_unsafe_view";
}

// Returns the size in that place of a reshape's argument, or nullptr if it may be -1.
Value *size_at(Graph &graph, const Value *sizes, const Const *place) {
  std::vector<int64_t> known;
  if (!place || !place->is_int() || place->i < 0) return nullptr;
  const size_t i = static_cast<size_t>(place->i);
  if (sizes->is_constant())
    return ints_of(*sizes->constant, &known) && i < known.size() && known[i] >= 0
               ? graph.constant(const_int(known[i]))
               : nullptr;
  if (!sizes->def || sizes->def->op != "prim::ListConstruct" || i >= sizes->def->inputs.size())
    return nullptr;
  Value *size = sizes->def->input(i);
  return size->def && size->def->op == "aten::size.int" ? size : nullptr;
}

// Replaces the sizes that are read of a reshape's result by those in its argument. The mask of
// transformers reads the number of keys.
void forward_sizes(Graph &graph, Node *reshape) {
  const std::vector<Use> uses = reshape->output()->uses;
  for (const Use &use : uses) {
    if (use.node->op != "aten::size.int") continue;
    if (Value *size = size_at(graph, reshape->input(1), use.node->constant(1))) {
      use.node->output()->replace_all_uses_with(size);
      use.node->destroy();
    }
  }
}

std::optional<Repeat> repeat_of(Graph &graph, Value *value, const Node *user) {
  Node *reshape = value->def, *first = reshape;
  if (!reshape || !(is_view(reshape->op) || reshape->op == "aten::reshape")) return {};
  if (is_view(reshape->op)) {
    first = reshape->input(0)->def;
    if (!first || first->op != "aten::clone" || only_user(first->output()) != reshape) return {};
  }
  Value *expanded = first->input(0);
  if (!expanded->def || expanded->def->op != "aten::expand") return {};
  forward_sizes(graph, reshape);
  if (only_user(value) != user || writes_between(first, user)) return {};
  return Repeat{expanded, reshape->input(1)};
}

// Returns the argument of attention, or its default.
Value *argument(Graph &graph, const Node &node, size_t i, const Const &otherwise) {
  return i < node.inputs.size() ? node.input(i) : graph.constant(otherwise);
}

bool fuse(Graph &graph, Node *node) {
  if (node->op != "aten::scaled_dot_product_attention") return false;
  const Const *grouped = node->constant(GROUPED);
  if (node->inputs.size() > GROUPED && !(grouped && grouped->is_bool() && !grouped->i))
    return false;
  const std::optional<Repeat> key = repeat_of(graph, node->input(KEY), node),
                              value = repeat_of(graph, node->input(VALUE), node);
  if (!key || !value) return false;
  Node *fused = graph.insert_before(node, "rush::repeated_attention");
  fused->add_input(node->input(QUERY));
  for (const Repeat &r : {*key, *value}) {
    fused->add_input(r.expanded);
    fused->add_input(r.sizes);
  }
  fused->add_input(argument(graph, *node, MASK, const_none()));
  fused->add_input(argument(graph, *node, DROPOUT, const_float(0)));
  fused->add_input(argument(graph, *node, CAUSAL, const_bool(false)));
  fused->add_input(argument(graph, *node, SCALE, const_none()));
  fused->add_output(tensor_type());
  node->replace_by(fused);
  return true;
}

}  // namespace

bool fuse_attention(Graph &graph) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) changed |= fuse(graph, node);
  return changed;
}

}  // namespace rush
