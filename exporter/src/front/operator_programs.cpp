// Operators that are programs of other operators, written in TorchScript (operators/).
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/library.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "front/operator_programs.h"
#include "front/torchscript_parts.h"
#include "ir/schema.h"
#include "rushlight/rushlight.h"

namespace rush {

namespace jit = torch::jit;

namespace {

constexpr char kOfComplex[] = "of_complex";

// The names of the runtime's own operators that programs call, as rush.NAME.
std::set<std::string> called_of_runtime() {
  std::set<std::string> out;
  for (size_t i = 0; i < kOperatorProgramCount; i++) {
    const std::string source = kOperatorPrograms[i].source;
    for (size_t at = 0; (at = source.find("rush.", at)) != std::string::npos;) {
      const size_t name = at += 5;
      while (at < source.size() && (std::isalnum(source[at]) || source[at] == '_')) at++;
      out.insert("rush::" + source.substr(name, at - name));
    }
  }
  return out;
}

// TorchScript compiles calls of registered operators only.
TORCH_LIBRARY_FRAGMENT(rush, library) {
  for (const std::string &op : called_of_runtime())
    if (const char *schema = rush_op_schema(op.c_str())) library.def(schema);
}

// torch.float32 and the like, besides torch's functions.
struct TorchModule : jit::BuiltinModule {
  TorchModule() : BuiltinModule("aten") {}
  std::shared_ptr<jit::SugaredValue> attr(const jit::SourceRange &where, jit::GraphFunction &f,
                                          const std::string &field) override {
    if (const auto dtype = find_dtype(field))
      return std::make_shared<jit::SimpleValue>(
          f.graph()->insertConstant(static_cast<int64_t>(*dtype), where));
    return BuiltinModule::attr(where, f, field);
  }
};

// The programs. Each is compiled when it is needed first, also by another program.
class Programs {
 public:
  // Returns nullptr if there is none of that name.
  jit::Function *find(const std::string &name) {
    if (jit::Function *known = unit_.find_function(name)) return known;
    const OperatorProgram *end = kOperatorPrograms + kOperatorProgramCount;
    const OperatorProgram *row =
        std::lower_bound(kOperatorPrograms, end, name,
                         [](const OperatorProgram &a, const std::string &b) { return a.name < b; });
    if (row == end || name != row->name) return nullptr;
    unit_.define(std::nullopt, row->source, std::make_shared<Names>(*this), nullptr);
    jit::Function *made = unit_.find_function(name);
    auto graph = jit::toGraphFunction(*made).graph();
    jit::Inline(*graph);
    return made;
  }

  // The program of an overload of `op`. Overloads that mix complex and other numbers use the complex
  // one. An overload without a program and without a function in the runtime uses the program of its
  // operator (aten::gcd takes tensors, aten::gcd.int numbers).
  jit::Function *find(const std::string &op, const std::string &name, const std::string &overload,
                      size_t arguments) {
    jit::Function *found = overload.empty() ? nullptr : find(name + "__" + overload);
    if (!found && overload.find("complex") != std::string::npos) found = find(name + "__complex");
    if (!found && !overload.empty() && rush_has_op((op + "." + overload).c_str())) return nullptr;
    if (!found) found = find(name);
    return found && found->getSchema().arguments().size() == arguments ? found : nullptr;
  }

 private:
  struct Names : jit::Resolver {
    explicit Names(Programs &programs) : programs_(programs) {}
    std::shared_ptr<jit::SugaredValue> resolveValue(const std::string &name, jit::GraphFunction &,
                                                    const jit::SourceRange &) override {
      if (name == "torch") return std::make_shared<TorchModule>();
      if (name == "rush") return std::make_shared<jit::BuiltinModule>("rush");
      jit::Function *other = programs_.find(name);
      return other ? std::make_shared<jit::FunctionValue>(other) : nullptr;
    }
    Programs &programs_;
  };

  jit::CompilationUnit unit_;
};

Programs &programs() {
  static Programs made;
  return made;
}

// NAME for "aten::NAME", NAMESPACE_NAME for other namespaces; "" for a namespace without programs.
std::string program_name(const std::string &op) {
  if (is_qnnpack() && (op == "quantized::add" || op == "quantized::add_relu"))
    return op == "quantized::add" ? "quantized_add_by_qnnpack" : "quantized_add_relu_by_qnnpack";
  const size_t colons = op.find("::");
  const std::string space = op.substr(0, colons), name = op.substr(colons + 2);
  return space == "aten" ? name
         : space == "quantized_decomposed" || space == "quantized" || space == "prim"
             ? space + "_" + name
             : "";
}

// Whether it is known to be complex: from a constant, or from tracing.
bool is_complex(const jit::Value *value) {
  if (const auto constant = jit::toIValue(value))
    return constant->isTensor() && constant->toTensor().is_complex();
  const auto type = value->type()->cast<c10::TensorType>();
  return type && type->scalarType() && c10::isComplexType(*type->scalarType());
}

// "conv2d__of_complex", "conv2d__padding_of_complex": the name of a program for an operator whose second
// operand, a weight, is complex.
std::string complex_name(const std::string &name, const std::string &overload) {
  return name + "__" + (overload.empty() ? "" : overload + "_") + kOfComplex;
}

// Later versions of PyTorch append arguments to operators. If a call leaves them at None, they are
// removed from `inputs`.
jit::Function *program_of(const jit::Node &node, std::vector<jit::Value *> &inputs) {
  const jit::FunctionSchema *schema = node.maybeSchema();
  const std::string op = node.kind().toQualString(), name = program_name(op);
  if (name.empty()) return nullptr;
  const std::string overload = schema ? schema->overload_name() : "";
  if (inputs.size() > 1 && is_complex(inputs[1]))
    if (jit::Function *own = programs().find(complex_name(name, overload))) return own;
  jit::Function *found = programs().find(op, name, overload, inputs.size());
  if (found || rush_has_op((overload.empty() ? op : op + "." + overload).c_str())) return found;
  found = programs().find(overload.empty() ? name : name + "__" + overload);
  const size_t n = found ? found->getSchema().arguments().size() : inputs.size();
  for (size_t i = n; i < inputs.size(); i++)
    if (!inputs[i]->mustBeNone()) return nullptr;
  if (n >= inputs.size()) return nullptr;
  inputs.resize(n);
  return found;
}

std::vector<jit::Value *> insert(jit::Graph &graph, jit::Function &function,
                                 const std::vector<jit::Value *> &inputs,
                                 const jit::SourceRange &where) {
  auto program = jit::toGraphFunction(function).graph()->copy();
  place_at(program->block(), where);
  return jit::insertGraph(graph, *program, inputs);
}

bool decompose(jit::Block *block) {
  bool changed = false;
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    jit::Node *node = *it++;
    for (jit::Block *inner : node->blocks()) changed |= decompose(inner);
    std::vector<jit::Value *> inputs = unpacked_inputs(node);
    jit::Function *function = program_of(*node, inputs);
    if (!function) continue;
    jit::WithInsertPoint before(node);
    const auto results = insert(*node->owningGraph(), *function, inputs, node->sourceRange());
    const bool several = node->outputs().size() > 1;
    const std::vector<jit::Value *> items =
        several ? jit::createTupleUnpack(results.at(0)).vec() : results;
    if (results.size() == 1 && !several) keep_handle(results[0]->node(), *node);
    for (size_t i = 0; i < node->outputs().size(); i++)
      node->outputs()[i]->replaceAllUsesWith(items.at(i));
    node->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace

std::vector<jit::Value *> insert_program(jit::Graph &graph, const std::string &name,
                                         const std::vector<jit::Value *> &inputs,
                                         const jit::SourceRange &where) {
  return insert(graph, *programs().find(name), inputs, where);
}

bool decompose(jit::Graph &graph) {
  return decompose(graph.block());
}

std::string for_complex(const std::string &op) {
  const std::string name = program_name(base_name(op)), overload = overload_name(op);
  if (!programs().find(complex_name(name, overload))) return op;
  return base_name(op) + "." + (overload.empty() ? "" : overload + "_") + kOfComplex;
}

std::string for_any_dtype(const std::string &op) {
  const std::string overload = overload_name(op);
  const size_t at = overload.rfind(kOfComplex);
  if (at == std::string::npos) return op;
  return base_name(op) + (at == 0 ? "" : "." + overload.substr(0, at - 1));
}

std::shared_ptr<const Graph> program_of_operator(const std::string &op) {
  const std::string name = op.find("::") == std::string::npos ? "" : program_name(base_name(op));
  const Schema *schema = name.empty() ? nullptr : schema_of(for_any_dtype(op));
  if (!schema) return nullptr;
  jit::Function *function =
      programs().find(base_name(op), name, overload_name(op), schema->args.size());
  if (!function) return nullptr;
  TorchScriptOptions options;
  options.texts = options.sources = false;
  return std::move(from_function(*function, options).methods[0].graph);
}

std::vector<std::string> operator_program_names() {
  std::vector<std::string> out;
  for (size_t i = 0; i < kOperatorProgramCount; i++) out.emplace_back(kOperatorPrograms[i].name);
  return out;
}

std::string operator_program_schema(const std::string &name) {
  jit::Function *found = programs().find(name);
  if (!found) throw std::invalid_argument("there is no program '" + name + "'");
  return c10::toString(found->getSchema());
}

}  // namespace rush
