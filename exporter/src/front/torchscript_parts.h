// The pieces of the TorchScript front.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <map>

#include "front/torchscript.h"

namespace rush {

// ---- sources.cpp

// A path as it may be stored: relative to the working directory, or from the package's name on.
std::string stored_path(const std::string &file);
// Replaces the paths in PyTorch's text ("# /home/me/net.py:12:4") by stored ones.
std::string without_absolute_paths(const std::string &text);
// The first frame outside torch.
Source source_of(const torch::jit::Node &node);

// ---- handles.cpp

class Handles {
 public:
  Handles();
  // Inlines the calls in a graph as PyTorch has it and numbers its nodes; gives those. A handle is
  // the number, counted from 1, and in its upper half a fingerprint of the graph.
  std::vector<torch::jit::Node *> number(torch::jit::Graph &graph);
  // Where a node of such a graph comes from, with its handle, whatever passes it went through.
  Source source(const torch::jit::Node &node) const;

 private:
  struct Numbered {
    Source source;
    torch::jit::NodeKind kind;
  };
  std::shared_ptr<torch::jit::Source> mark_;  // of the ranges that hold numbers
  std::vector<Numbered> numbered_;
};

// ---- texts.cpp

// Graph and code text of each method of each submodule, and the tree.
std::vector<Text> texts_of(const torch::jit::Module &module);
Text graph_text(const torch::jit::Function &function, const std::string &module);
Text code_text(const torch::jit::Function &function, const std::string &module);

// ---- convert.cpp

// Names of tensors by what they are a view of: "conv.weight".
class TensorNames {
 public:
  void add(const at::Tensor &tensor, const std::string &name);
  std::string find(const at::Tensor &tensor) const;  // "" where unknown

 private:
  std::vector<std::pair<at::Tensor, std::string>> tensors_;
  std::multimap<const void *, size_t> by_data_;
};

struct ConvertContext {
  const TensorNames *names;
  const Handles *handles;
  Program *program;                           // gets attributes
  std::map<std::string, size_t> slots;        // "object address/attribute name"
  std::map<const void *, std::string> paths;  // of module objects
};

// The graph of a method of `self`, or of a function where `self` is nullptr.
std::unique_ptr<Graph> convert(const torch::jit::Graph &from, const torch::jit::Module *self,
                               ConvertContext &context);

}  // namespace rush
