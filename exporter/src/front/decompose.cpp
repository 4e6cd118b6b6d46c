// Operators that are programs of others, written in TorchScript: PyTorch has them only to be quick.
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/passes/inliner.h>

#include "front/torchscript_parts.h"

namespace rush {

namespace jit = torch::jit;

namespace {

const jit::CompilationUnit &operators() {
  static const std::shared_ptr<jit::CompilationUnit> unit = [] {
    auto made = std::make_shared<jit::CompilationUnit>();
    for (const char *source : operator_programs())
      made->define(std::nullopt, source, jit::nativeResolver(), nullptr);
    for (jit::Function *f : made->get_functions()) {
      auto graph = jit::toGraphFunction(*f).graph();
      jit::Inline(*graph);
    }
    return made;
  }();
  return *unit;
}

// The program of an overload; of its operator where it has none of its own.
jit::Function *program_of(const jit::Node &node) {
  const std::string name = node.kind().toUnqualString();
  const jit::FunctionSchema *schema = node.maybeSchema();
  jit::Function *own = schema && !schema->overload_name().empty()
                           ? operators().find_function(name + "__" + schema->overload_name())
                           : nullptr;
  return own ? own : operators().find_function(name);
}

bool decompose(jit::Block *block) {
  bool changed = false;
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    jit::Node *node = *it++;
    for (jit::Block *inner : node->blocks()) changed |= decompose(inner);
    if (!node->kind().is_aten()) continue;
    jit::Function *function = program_of(*node);
    if (!function || function->getSchema().arguments().size() != node->inputs().size()) continue;
    auto program = jit::toGraphFunction(*function).graph()->copy();
    place_at(program->block(), node->sourceRange());
    jit::WithInsertPoint before(node);
    const auto results = jit::insertGraph(*node->owningGraph(), *program, node->inputs());
    const bool several = node->outputs().size() > 1;
    const std::vector<jit::Value *> items =
        several ? jit::createTupleUnpack(results.at(0)).vec() : results;
    for (size_t i = 0; i < node->outputs().size(); i++)
      node->outputs()[i]->replaceAllUsesWith(items.at(i));
    node->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace

bool decompose(jit::Graph &graph) {
  return decompose(graph.block());
}

std::shared_ptr<const Graph> program_of_operator(const std::string &op) {
  static const std::string aten = "aten::";
  if (op.rfind(aten, 0) != 0) return nullptr;
  std::string name = op.substr(aten.size());
  const size_t dot = name.find('.');
  if (dot != std::string::npos) name.replace(dot, 1, "__");
  jit::Function *function = operators().find_function(name);
  if (!function) return nullptr;
  TorchScriptOptions options;
  options.texts = options.sources = false;
  return std::move(from_function(*function, options).methods[0].graph);
}

}  // namespace rush
