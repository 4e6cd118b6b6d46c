// Nested tensors, which nn.TransformerEncoder makes and converts back if some items are padding. Each is
// replaced by a padded tensor and a mask of its items, a Tensor?, which is None if the program did not
// make it nested.
#include <unordered_map>

#include "front/torchscript_parts.h"
#include "ir/unsupported.h"

namespace rush {

namespace jit = torch::jit;
namespace prim = c10::prim;

namespace {

bool is(const jit::Node &node, const char *name) {
  return node.kind() == c10::Symbol::fromQualString(name);
}

bool makes_nested(jit::Block *block) {
  for (jit::Node *node : block->nodes()) {
    if (is(*node, "aten::_nested_tensor_from_mask")) return true;
    for (jit::Block *inner : node->blocks())
      if (makes_nested(inner)) return true;
  }
  return false;
}

// Whether an operator only reads properties that the padded tensor has, too.
bool asks_only(const jit::Node &node) {
  for (const char *name : {"aten::dim", "prim::dtype", "prim::device", "prim::requires_grad",
                           "aten::is_floating_point", "aten::__is__", "aten::__isnot__"})
    if (is(node, name)) return true;
  return false;
}

class Nested {
 public:
  Nested(jit::Graph &graph, const Handles &handles) : graph_(graph), handles_(handles) {}

  void run() {
    block(graph_.block());
    jit::WithInsertPoint end(graph_.return_node());
    for (jit::Value *v : graph_.outputs())
      if (items(v)) never(*v->node(), v, "as a result");
  }

 private:
  // The mask of a value that may be nested; else nullptr.
  jit::Value *items(jit::Value *v) const {
    const auto found = items_.find(v);
    return found == items_.end() ? nullptr : found->second;
  }

  void block(jit::Block *in) {
    for (auto it = in->nodes().begin(); it != in->nodes().end();) {
      jit::Node *n = *it++;
      for (jit::Block *inner : n->blocks()) block(inner);
      jit::WithInsertPoint before(n);
      node(n);
    }
  }

  void node(jit::Node *n) {
    if (n->kind() == prim::If) return choice(n);
    if (is(*n, "aten::_nested_tensor_from_mask")) return made(n);
    jit::Value *nested = nullptr;
    for (jit::Value *v : n->inputs())
      if (items(v)) nested = v;
    if (!nested) return;
    const bool first = n->inputs()[0] == nested;
    if (n->kind() == prim::unchecked_cast) {
      items_[n->output()] = items(nested);
    } else if (is(*n, "prim::is_nested")) {
      jit::Value *none = graph_.insertConstant(c10::IValue());
      give(n, graph_.insert(c10::aten::__isnot__, {items(nested), none}));
    } else if (first && is(*n, "aten::_transformer_encoder_layer_fwd")) {
      give(n, program("nested_encoder_layer", n));
    } else if (first &&
               (is(*n, "aten::to_padded_tensor") || is(*n, "aten::nested_to_padded_tensor"))) {
      jit::Value *dense = program("nested_to_padded", n);
      n->output()->replaceAllUsesWith(dense);
      n->destroy();
    } else if (!asks_only(*n)) {
      never(*n, nested, "in " + std::string(n->kind().toQualString()));
    }
  }

  // Inserts the program of an operator whose first argument is nested; its mask comes first.
  jit::Value *program(const char *name, jit::Node *n) {
    std::vector<jit::Value *> inputs = {items(n->inputs()[0])};
    inputs.insert(inputs.end(), n->inputs().begin(), n->inputs().end());
    return insert_program(graph_, name, inputs, n->sourceRange()).at(0);
  }

  // Replaces the node's result by `result`, which is nested if the first argument is.
  void give(jit::Node *n, jit::Value *result) {
    if (n->output()->type()->kind() == c10::TypeKind::TensorType)
      items_[result] = items(n->inputs()[0]);
    n->output()->replaceAllUsesWith(result);
    n->destroy();
  }

  void made(jit::Node *n) {
    jit::Value *which =
        insert_program(graph_, "nested_from_mask", n->inputs().vec(), n->sourceRange()).at(0);
    jit::Node *padded = graph_.insertNode(graph_.create(c10::aten::alias, {n->inputs()[0]}, 1));
    padded->setSourceRange(n->sourceRange());
    n->output()->replaceAllUsesWith(padded->output());
    n->destroy();
    items_[padded->output()] = which;
  }

  void choice(jit::Node *n) {
    const size_t outputs = n->outputs().size();
    for (size_t i = 0; i < outputs; i++) {
      bool any = false;
      for (jit::Block *inner : n->blocks()) any |= items(inner->outputs()[i]) != nullptr;
      if (!any) continue;
      for (jit::Block *inner : n->blocks()) {
        jit::Value *which = items(inner->outputs()[i]);
        if (!which) {
          jit::WithInsertPoint end(inner->return_node());
          which = graph_.insertConstant(c10::IValue());
        }
        inner->registerOutput(which);
      }
      jit::Value *which = n->addOutput();
      which->setType(c10::OptionalType::ofTensor());
      items_[n->outputs()[i]] = which;
    }
  }

  // The program raises if a nested tensor reaches an operator that takes none.
  void never(const jit::Node &node, jit::Value *nested, const std::string &where) {
    const Source at = handles_.source(node);
    const std::string place = at.file.empty() ? "" : at.file + ":" + std::to_string(at.line) + ": ";
    const std::string why = place + "a nested tensor " + where +
                            " is not supported: they are had as nn.TransformerEncoder uses them";
    jit::Value *which = items(nested);
    if (which->type()->kind() == c10::TypeKind::TensorType) throw Unsupported(why);
    jit::Value *none = graph_.insertConstant(c10::IValue());
    jit::Value *found = graph_.insert(c10::aten::__isnot__, {which, none});
    jit::Node *stop = graph_.insertNode(graph_.create(prim::If, {found}, 0));
    stop->addBlock();
    stop->addBlock();
    jit::WithInsertPoint in(stop->blocks()[0]);
    graph_.insertNode(graph_.create(prim::RaiseException, {graph_.insertConstant(why), none}, 0));
  }

  jit::Graph &graph_;
  const Handles &handles_;
  std::unordered_map<const jit::Value *, jit::Value *> items_;
};

}  // namespace

void pad_nested_tensors(jit::Graph &graph, const Handles &handles) {
  if (makes_nested(graph.block())) Nested(graph, handles).run();
}

}  // namespace rush
