// Rotary positions turn pairs of features: x * cos + rotate_half(x) * sin. rush::rotate_half makes
// the second operand in one walk, and a chain does the rest.
#include "passes/match.h"
#include "passes/passes.h"

namespace rush {

namespace {

enum { INPUT, DIM, START, END, STEP };  // arguments of slice

bool is_int(const Node &slice, size_t i, int64_t wanted, bool or_none) {
  if (i >= slice.inputs.size()) return or_none || wanted == 1;
  const Const *c = slice.constant(i);
  return c && ((c->is_none() && or_none) || (c->is_int() && c->i == wanted));
}

bool same_value(const Value *a, const Value *b) {
  return a == b || (a->is_constant() && b->is_constant() && same(*a->constant, *b->constant));
}

// Matches cat([-x[split:], x[:split]], dim), and returns whether it replaced it.
bool fuse(Graph &graph, Node *cat) {
  if (cat->op != "aten::cat" || cat->inputs.size() < 2) return false;
  Node *list = sole_definition(cat->input(0), "prim::ListConstruct");
  if (!list || list->inputs.size() != 2) return false;
  const Node *neg = sole_definition(list->input(0), "aten::neg");
  Node *high = neg ? sole_definition(neg->input(0), "aten::slice.Tensor") : nullptr;
  Node *low = sole_definition(list->input(1), "aten::slice.Tensor");
  if (!high || !low || high->input(INPUT) != low->input(INPUT) || high->inputs.size() <= START ||
      low->inputs.size() <= END || !same_value(high->input(DIM), low->input(DIM)) ||
      !same_value(high->input(START), low->input(END)) || !is_int(*low, START, 0, true) ||
      !is_int(*high, END, INT64_MAX, true) || !is_int(*high, STEP, 1, false) ||
      !is_int(*low, STEP, 1, false))
    return false;
  for (const Node *part : {high, low})
    if (part->block != cat->block || writes_between(part, cat)) return false;
  Node *fused = graph.insert_before(cat, "rush::rotate_half");
  for (Value *input : {high->input(INPUT), high->input(DIM), high->input(START), cat->input(1)})
    fused->add_input(input);
  fused->add_output(tensor_type());
  cat->replace_by(fused);
  return true;
}

}  // namespace

bool fuse_rotary(Graph &graph) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) changed |= fuse(graph, node);
  return changed;
}

}  // namespace rush
