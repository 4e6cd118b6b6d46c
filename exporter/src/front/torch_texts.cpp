#include <torch/csrc/jit/serialization/python_print.h>

#include "front/torchscript_parts.h"

namespace rush {

namespace {

// Prints a loaded module as torch.nn.Module.__repr__ does.
std::string tree(const torch::jit::Module &module) {
  const std::string own = "original_name=" + module.type()->name()->name();
  std::string children;
  for (const auto &child : module.named_children()) {
    std::string inner = tree(child.value);
    for (size_t at = 0; (at = inner.find('\n', at)) != std::string::npos; at += 3)
      inner.replace(at, 1, "\n  ");
    children += "\n  (" + child.name + "): " + inner;
  }
  if (children.empty()) return "RecursiveScriptModule(" + own + ")";
  return "RecursiveScriptModule(\n  " + own + children + "\n)";
}

}  // namespace

Text graph_text(const torch::jit::Function &function, const std::string &module) {
  auto &f = const_cast<torch::jit::Function &>(function);
  return {module, RUSH_TEXT_GRAPH, without_absolute_paths(toGraphFunction(f).graph()->toString())};
}

Text code_text(const torch::jit::Function &function, const std::string &module) {
  std::vector<at::IValue> constants;
  torch::jit::PrintDepsTable deps;
  torch::jit::PythonPrint printer(constants, deps);
  printer.printFunction(function);
  return {module, RUSH_TEXT_CODE, without_absolute_paths(printer.str())};
}

std::vector<Text> texts_of(const torch::jit::Module &root) {
  std::vector<Text> out;
  for (const auto &module : root.named_modules()) {
    for (const auto &method : module.value.get_methods()) {
      const std::string key =
          method.name() == "forward" ? module.name : module.name + ":" + method.name();
      out.push_back(graph_text(method.function(), key));
      std::vector<at::IValue> constants;
      torch::jit::PrintDepsTable deps;
      torch::jit::PythonPrint printer(constants, deps);
      printer.printMethod(method.function());
      out.push_back({key, RUSH_TEXT_CODE, without_absolute_paths(printer.str())});
    }
  }
  out.push_back({"", RUSH_TEXT_TREE, tree(root)});
  return out;
}

}  // namespace rush
