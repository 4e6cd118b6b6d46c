// The pieces of the TorchScript front.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <set>
#include <unordered_map>

#include "front/torchscript.h"

namespace rush {

// ---- sources.cpp

// Replaces the paths in PyTorch's text ("# /home/me/net.py:12:4") by stored ones.
std::string without_absolute_paths(const std::string &text);
// The first frame outside torch.
Source source_of(const torch::jit::Node &node);
// Has all nodes of a block, and of those inside it, come from there.
void place_at(torch::jit::Block *block, const torch::jit::SourceRange &range);

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

// Has the node keep the other's handle, if it was made in its place: its one result is the other's.
void stand_for(torch::jit::Node *node, const torch::jit::Node &other);

// ---- texts.cpp

// Graph and code text of each method of each submodule, and the tree.
std::vector<Text> texts_of(const torch::jit::Module &module);
Text graph_text(const torch::jit::Function &function, const std::string &module);
Text code_text(const torch::jit::Function &function, const std::string &module);

// ---- calls.cpp

// Inlines all calls, and what the two that follow make of others.
void inline_calls(torch::jit::Graph &graph);

// ---- contexts.cpp

// Makes calls of what `with` does on objects of the program's own.
bool call_contexts(torch::jit::Graph &graph);
// Whether `with` on an object of this type changes no answer: there are no gradients here and no
// profiler.
bool is_silent_context(const c10::TypePtr &type);

// ---- scalars.cpp

// Has constant 0-d operands be the numbers that PyTorch's executor takes them for: before anything
// is folded.
void scalar_operands(torch::jit::Graph &graph);

// ---- in_double.cpp

// float64 for a floating-point dtype, complex128 for a complex one.
at::ScalarType wide(at::ScalarType dtype);
// Has a graph compute in float64; its inputs are to be given so. Throws std::invalid_argument where
// that would be another program.
void widen(torch::jit::Graph &graph);

// While it lives, tensors without a dtype are float64: in the whole process, so not for long.
class DoubleByDefault {
 public:
  explicit DoubleByDefault(bool on);
  ~DoubleByDefault();
  DoubleByDefault(const DoubleByDefault &) = delete;

 private:
  caffe2::TypeMeta before_;
};

// ---- copy.cpp

// The module with the same attributes, of classes of its own: what is done to their methods, the
// module's do not see.
torch::jit::Module of_own_class(const torch::jit::Module &module);

// A copy in float64; tensors that share memory share memory in it.
c10::IValue in_double(const c10::IValue &value);

// ---- containers.cpp

// Makes choices between calls of the calls on modules that the program looks up in a container.
bool choose_modules(torch::jit::Graph &graph);

// ---- instances.cpp

// What an argument of this type can be that comes from outside of the program: no object of its
// classes, where it may be something else, too.
c10::TypePtr from_outside(const c10::TypePtr &type);
// Puts constants in place of isinstance and `is None` where types are the answer.
bool fold_questions(torch::jit::Graph &graph);

// ---- forks.cpp

// Inlines all calls; what is forked runs in place, and waiting gives its value.
void in_one_piece(torch::jit::Graph &graph);

// ---- decompose.cpp

// Puts programs in place of operators that are made of others: losses, attention in one piece.
bool decompose(torch::jit::Graph &graph);
// Inserts the program of this name in `operators/`, as if it had been written at `where`; gives its
// results.
std::vector<torch::jit::Value *> insert_program(torch::jit::Graph &graph, const std::string &name,
                                                const std::vector<torch::jit::Value *> &inputs,
                                                const torch::jit::SourceRange &where);

// ---- nested.cpp

// Puts padded tensors in place of nested ones. Throws Unsupported where one is used as
// nn.TransformerEncoder does not.
void nested_as_padded(torch::jit::Graph &graph, const Handles &handles);

// ---- packed.cpp

// The node's inputs; in place of packed quantized weights what they were packed from: integers,
// scales, zero points, bias (of recurrent layers lists of these) and whether qnnpack is the engine;
// then, of a convolution, stride, padding, dilation, output padding, groups, whether it is
// transposed, of recurrent layers whether they leave a bit free. In place of a packed embedding its
// rows as bytes.
std::vector<torch::jit::Value *> unpacked_inputs(torch::jit::Node *node);

// Whether PyTorch's quantized operators are qnnpack's now.
bool is_qnnpack();

// ---- objects.cpp

// Those objects in attributes of `self` that these graphs use as values: hand on, compare, replace.
// The others are like submodules: each of their attributes is one of the model.
std::set<const void *> objects_as_values(const torch::jit::Module &self,
                                         const std::vector<const torch::jit::Graph *> &graphs);

// Whether a value is or contains an object of a class that the program defines.
bool holds_objects(const c10::IValue &value);
// The C++ class of the packed quantized weights that a value is or contains; "" where there are
// none.
std::string packed_class(const c10::IValue &value);
// Tells an object, list or dict apart from all others that live.
std::string identity(const c10::IValue &value);

// What attributes hold, by the attribute's name.
using Contents = std::unordered_map<c10::IValue, std::string, c10::IValue::HashAliasedIValue,
                                    c10::IValue::CompAliasedIValues>;
// Adds lists, dicts and objects in `value`. Throws where another attribute holds one of them.
void refuse_shared(const c10::IValue &value, const std::string &attribute, Contents *contents);

// Objects and enums are of the program's own; throws where `type` of `what` holds one.
void refuse_own_classes(const Type &type, const std::string &what);

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
  std::set<const void *> as_values;           // objects_as_values()
  Contents contents;
};

// The graph of a method of `self`, or of a function where `self` is nullptr.
std::unique_ptr<Graph> convert(const torch::jit::Graph &from, const torch::jit::Module *self,
                               ConvertContext &context);

}  // namespace rush
