// The parts of the TorchScript front.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <set>
#include <unordered_map>

#include "front/torchscript.h"

namespace rush {

// ---- source_locations.cpp

// Replaces the paths in PyTorch's text ("# /home/me/net.py:12:4") by stored ones.
std::string without_absolute_paths(const std::string &text);
// The first frame outside torch.
Source source_of(const torch::jit::Node &node);
// Sets the source of all nodes of a block and of its inner blocks.
void place_at(torch::jit::Block *block, const torch::jit::SourceRange &range);

// ---- debug_handles.cpp

class Handles {
 public:
  Handles();
  // Inlines the calls in PyTorch's graph, numbers its nodes, and returns these. A handle has the number,
  // which counts from 1, and a fingerprint of the graph in its upper half.
  std::vector<torch::jit::Node *> number(torch::jit::Graph &graph);
  // The source and the handle of a node, which libtorch's passes preserve.
  Source source(const torch::jit::Node &node) const;

 private:
  struct Numbered {
    Source source;
    torch::jit::NodeKind kind;
  };
  std::shared_ptr<torch::jit::Source> mark_;  // of the ranges that hold numbers
  std::vector<Numbered> numbered_;
};

// Gives a node that replaces another one its handle: its one result is the other's.
void keep_handle(torch::jit::Node *node, const torch::jit::Node &other);

// ---- torch_texts.cpp

// Graph and code text of each method of each submodule, and the tree.
std::vector<Text> texts_of(const torch::jit::Module &module);
Text graph_text(const torch::jit::Function &function, const std::string &module);
Text code_text(const torch::jit::Function &function, const std::string &module);

// ---- calls.cpp

// Inlines all calls, also those that the next two functions make.
void inline_calls(torch::jit::Graph &graph);

// ---- with_statements.cpp

// Replaces `with` on objects of the program's classes by calls.
bool call_contexts(torch::jit::Graph &graph);
// Whether `with` on an object of this type changes no answer, as for gradients and the
// profiler.
bool is_silent_context(const c10::TypePtr &type);

// ---- scalar_operands.cpp

// Replaces constant 0-d operands by numbers, as PyTorch's executor does. It must run before constants
// are folded.
void scalar_operands(torch::jit::Graph &graph);

// ---- float64.cpp

// float64 for a floating-point dtype, complex128 for a complex one.
at::ScalarType wide(at::ScalarType dtype);
// Makes a graph compute in float64; its inputs must be float64, too. Throws std::invalid_argument if that
// would change the program.
void widen(torch::jit::Graph &graph);

// While it lives, new tensors without a dtype are float64 in the whole process.
class DoubleByDefault {
 public:
  explicit DoubleByDefault(bool on);
  ~DoubleByDefault();
  DoubleByDefault(const DoubleByDefault &) = delete;

 private:
  caffe2::TypeMeta before_;
};

// ---- copy_module.cpp

// A module with the same attributes and with classes of its own, so that changes of its methods do not
// reach the given module.
torch::jit::Module of_own_class(const torch::jit::Module &module);

// A copy in float64. Tensors that share memory share memory in the copy.
c10::IValue in_double(const c10::IValue &value);

// ---- containers.cpp

// Replaces calls on modules from a container by a choice between the calls of each.
bool choose_modules(torch::jit::Graph &graph);

// ---- type_checks.cpp

// Replaces isinstance and `is None` by constants if types decide them.
bool fold_type_checks(torch::jit::Graph &graph);

// ---- forks.cpp

// Inlines all calls. Forked code runs in place, and waiting returns its value.
void inline_calls_and_forks(torch::jit::Graph &graph);

// ---- boundary_objects.cpp

// The type of an argument that comes from outside of the program: without the program's classes, if
// another type or None is allowed.
c10::TypePtr from_outside(const c10::TypePtr &type);

// ---- operator_programs.cpp

// Replaces operators by their programs: losses, fused attention.
bool decompose(torch::jit::Graph &graph);
// Inserts the program of this name in `operators/` with the source `where`, and returns its
// results.
std::vector<torch::jit::Value *> insert_program(torch::jit::Graph &graph, const std::string &name,
                                                const std::vector<torch::jit::Value *> &inputs,
                                                const torch::jit::SourceRange &where);

// ---- nested_tensors.cpp

// Replaces nested tensors by padded ones. Throws Unsupported unless they are used as in
// nn.TransformerEncoder.
void pad_nested_tensors(torch::jit::Graph &graph, const Handles &handles);

// ---- packed_weights.cpp

// The node's inputs, in which packed quantized weights are replaced by their parts: integers, scales,
// zero points, bias (lists of these for recurrent layers) and whether qnnpack is the engine. For a
// convolution stride, padding, dilation, output padding, groups, and whether it is transposed follow,
// for recurrent layers whether they leave a bit free. A packed embedding is replaced by its rows as
// bytes.
std::vector<torch::jit::Value *> unpacked_inputs(torch::jit::Node *node);

// Whether qnnpack is PyTorch's current engine.
bool is_qnnpack();

// ---- objects.cpp

// The objects in attributes of `self` that these graphs use as values: they pass, compare or replace them.
// Other objects are like submodules: their attributes are the model's.
std::set<const void *> objects_as_values(const torch::jit::Module &self,
                                         const std::vector<const torch::jit::Graph *> &graphs);

// Whether a value is or contains an object of a class that the program defines.
bool holds_objects(const c10::IValue &value);
// The C++ class of the packed quantized weights that a value is or contains; "" if there are
// none.
std::string packed_class(const c10::IValue &value);
// A text that identifies a living object, list or dict.
std::string identity(const c10::IValue &value);

// Maps the contents of attributes to the attribute's name.
using Contents = std::unordered_map<c10::IValue, std::string, c10::IValue::HashAliasedIValue,
                                    c10::IValue::CompAliasedIValues>;
// Adds lists, dicts and objects in `value`. Throws if another attribute holds one of them.
void refuse_shared(const c10::IValue &value, const std::string &attribute, Contents *contents);

// Throws if `type` of `what` has objects or enums of the program's classes.
void refuse_own_classes(const Type &type, const std::string &what);

// ---- convert.cpp

// Finds the name of the tensor that a tensor is a view of: "conv.weight".
class TensorNames {
 public:
  void add(const Tensor &tensor, const std::string &name);
  std::string find(const Tensor &tensor) const;  // "" if unknown

 private:
  std::vector<std::pair<Tensor, std::string>> tensors_;
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

// Converts a method of `self`, or a function if `self` is nullptr.
std::unique_ptr<Graph> convert(const torch::jit::Graph &from, const torch::jit::Module *self,
                               ConvertContext &context);

}  // namespace rush
