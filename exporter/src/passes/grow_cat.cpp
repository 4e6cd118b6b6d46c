// `self.keys = torch.cat([self.keys, k], 2)`: a growing cache is not copied in each run.
//
// rush::grow is cat that reserves capacity for the next elements (wasm/src/tensor/growable.h).
#include "ir/alias.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace rush {

namespace {

// Returns whether the whole value becomes the attribute. A part of it, such as a sliding window,
// needs no spare capacity.
bool is_set(const Value *value, int64_t slot) {
  for (const Use &use : value->uses) {
    if (use.node->op == "rush::set_attr" && use.node->constant(0)->i == slot) return true;
    const Node *owner = use.node->op == "return" ? use.node->block->owner : nullptr;
    if (owner && owner->op == "prim::If" && is_set(owner->outputs[use.index], slot)) return true;
  }
  return false;
}

// The result of a method is made contiguous for the caller, so that such a cache is copied anyway.
bool is_kept(const Value *value, int64_t slot) {
  const Fate fate = fate_of(value);
  return is_set(value, slot) && !fate.written && !fate.returned;
}

bool grow(Node *cat) {
  if (cat->op != "aten::cat" && cat->op != "aten::concat" && cat->op != "aten::concatenate")
    return false;
  const Node *list = cat->input(0)->def;
  if (!list || list->op != "prim::ListConstruct" || list->inputs.empty()) return false;
  const Node *kept = list->input(0)->def;
  if (!kept || kept->op != "rush::get_attr" || !is_kept(cat->output(), kept->constant(0)->i))
    return false;
  cat->op = "rush::grow";
  return true;
}

}  // namespace

bool grow_cat(Graph &graph) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) changed |= grow(node);
  return changed;
}

}  // namespace rush
