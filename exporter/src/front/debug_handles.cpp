// Debug handles number the nodes of PyTorch's unfrozen graph. A node carries its handle as a source
// range, which is the only thing that inlining, freezing and unrolling copy with every
// node.
#include "front/torchscript_parts.h"

namespace rush {

namespace jit = torch::jit;
namespace prim = c10::prim;

namespace {

// Marks a node that replaces a node of another kind.
const c10::Symbol kResult = c10::Symbol::attr("rush_result");

// Saving and loading a module may add or share these nodes, which therefore get no number.
bool is_numbered(const jit::Node &node) {
  switch (node.kind()) {
    case prim::Constant:
    case prim::GetAttr:
    case prim::Uninitialized:
      return false;
    default:
      return true;
  }
}

void collect(jit::Block *block, std::vector<jit::Node *> *out) {
  for (jit::Node *node : block->nodes()) {
    if (is_numbered(*node)) out->push_back(node);
    for (jit::Block *inner : node->blocks()) collect(inner, out);
  }
}

// FNV-1a
uint32_t fingerprint(const std::vector<jit::Node *> &nodes) {
  uint32_t hash = 2166136261u;
  for (const jit::Node *node : nodes)
    for (const char *at = node->kind().toQualString(); *at; at++)
      hash = (hash ^ static_cast<uint8_t>(*at)) * 16777619u;
  return hash;
}

}  // namespace

Handles::Handles() : mark_(std::make_shared<jit::Source>("")) {}

std::vector<jit::Node *> Handles::number(jit::Graph &graph) {
  inline_calls_and_forks(graph);
  std::vector<jit::Node *> nodes;
  collect(graph.block(), &nodes);
  const uint64_t high = static_cast<uint64_t>(fingerprint(nodes)) << 32;
  for (size_t i = 0; i < nodes.size(); i++) {
    Numbered numbered = {source(*nodes[i]), nodes[i]->kind()};  // it may be in another method
    numbered.source.handle = high | (i + 1);
    nodes[i]->setSourceRange(jit::SourceRange(mark_, numbered_.size(), numbered_.size()));
    numbered_.push_back(std::move(numbered));
  }
  return nodes;
}

Source Handles::source(const jit::Node &node) const {
  const jit::SourceRange range = node.sourceRange();
  if (range.source() != mark_) return source_of(node);
  const Numbered &numbered = numbered_.at(range.start());
  Source out = numbered.source;
  if (node.kind() != numbered.kind && !node.hasAttribute(kResult))
    out.handle = 0;  // a pass has replaced the node
  return out;
}

void keep_handle(jit::Node *node, const jit::Node &other) {
  if (node->outputs().size() == 1 && node->sourceRange() == other.sourceRange())
    node->i_(kResult, 1);
}

}  // namespace rush
