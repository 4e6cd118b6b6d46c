#include "front/torchscript.h"

#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/csrc/jit/passes/frozen_graph_optimizations.h>
#include <torch/csrc/jit/passes/lower_tuples.h>
#include <torch/csrc/jit/passes/shape_analysis.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/version.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <stdexcept>

#include "base/files.h"
#include "base/joined.h"
#include "base/runtime_error.h"
#include "front/from_c10.h"
#include "front/torchscript_parts.h"
#include "ir/unsupported.h"

namespace rush {

namespace jit = torch::jit;

void prepare_torchscript() {
  jit::setTensorExprFuserEnabled(false);
}

namespace {

std::string first_bytes(const std::string &path, size_t n) {
  std::ifstream file = open_file(path);
  std::string out(n, '\0');
  file.read(out.data(), static_cast<std::streamsize>(n));
  out.resize(static_cast<size_t>(file.gcount()));
  return out;
}

// Names the kind of a file that is no TorchScript: other files of PyTorch are known by the names in
// the zip's directory, which is at its end.
std::string remedy(const std::string &path) {
  std::ifstream file = open_file(path);
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg(), from = std::max<std::streamoff>(0, size - (1 << 20));
  std::string end(static_cast<size_t>(size - from), '\0');
  file.seekg(from);
  file.read(end.data(), static_cast<std::streamsize>(end.size()));
  auto has = [&](const char *name) { return end.find(name) != std::string::npos; };
  const std::string start = from == 0 ? end.substr(0, 9) : first_bytes(path, 9);
  if (start.compare(0, 5, "\x89RUSH") == 0)
    return " is a .rush file already: inspect, verify and diff take it, and so does rushlight.load";
  if (start.size() == 9 && start[8] == '{')
    return " is a .safetensors file, which holds tensors and no program: load them into the model "
           "in Python and use rushlight.export(model, (x,), \"MODEL.rush\") there";
  if (start.compare(0, 1, "\x08") == 0)
    return " is an ONNX model: export the PyTorch model that it was made of";
  if (has("models/model.json") || has("serialized_exported_program.json"))
    return " was written by torch.export.save, which only Python reads: use "
           "rushlight.export(\"" +
           path + "\", path=\"MODEL.rush\") there";
  const bool old = size > 2 && from == 0 && end[0] == '\x80' && end[1] == '\x02';  // a pickle
  if (old || (has("/data.pkl") && !has("/constants.pkl")))
    return " was written by torch.save and needs the Python that made it: load it there and use "
           "rushlight.export(model, (x,), \"MODEL.rush\") or torch.jit.save";
  return "";
}

}  // namespace

jit::Module load_torchscript(const std::string &path) {
  open_file(path);  // throws if it cannot be read
  try {
    return jit::load(path, c10::kCPU);
  } catch (const std::exception &e) {
    // TorchScript's compiler throws another class.
    const auto *error = dynamic_cast<const c10::Error *>(&e);
    const std::string what = error ? error->what_without_backtrace() : e.what();
    std::smatch op;
    if (std::regex_search(what, op, std::regex("Unknown (?:builtin )?op(?:erator)?:? '?([\\w:]+)")))
      throw RuntimeError(
          RUSH_ERR_UNSUPPORTED,
          path + " uses the operator " + op[1].str() +
              ", which this torch does not have: load the library that registers it, by "
              "--load-library or, in Python, torch.ops.load_library");
    std::smatch of;
    if (std::regex_search(what, of,
                          std::regex("Unknown type name '__torch__\\.(torch\\.classes\\.[\\w.]+)")))
      throw RuntimeError(
          RUSH_ERR_UNSUPPORTED,
          path + (of[1].str().rfind("torch.classes.rushlight.", 0) == 0
                      ? ": a part of this model was lowered already (rushlight.lower): export the "
                        "original model"
                      : ": an object of " + of[1].str() + " cannot be stored"));
    std::string why = remedy(path);
    if (why.empty()) {
      const size_t from = what.find_first_not_of('\n');
      why = " is not a TorchScript file: " +
            what.substr(std::min(from, what.size()), what.find('\n', from) - from);
    }
    throw RuntimeError(RUSH_ERR_BAD_FILE, path + why);
  }
}

namespace {

// Throws std::invalid_argument if the model has no such method.
void require_method(const jit::Module &module, const std::string &name) {
  if (module.find_method(name)) return;
  const std::string known =
      joined(module.get_methods(), [](const jit::Method &m) { return m.name(); });
  const bool overloaded = module.find_method(name + "__0").has_value();
  throw std::invalid_argument(
      "the model has no method '" + name + "'; it has " + (known.empty() ? "none" : known) +
      (overloaded ? ": name one of these, or wrap it in a module that calls it" : ""));
}

// Removes the shapes that a trace saw, which libtorch's passes would fold.
void erase_shapes(const jit::Module &root) {
  for (const auto &module : root.modules())
    for (const auto &method : module.get_methods()) {
      auto graph = method.graph();
      jit::EraseShapeInformation(graph);
    }
}

jit::Module frozen(const jit::Module &module, const TorchScriptOptions &options, Handles *handles) {
  for (const std::string &name : options.methods) require_method(module, name);
  jit::Module work = of_own_class(module);
  if (!options.train) work.eval();
  erase_shapes(work);
  for (const std::string &name : options.methods) {
    auto graph = work.get_method(name).graph();
    handles->number(*graph);
    scalar_operands(*graph);
  }
  std::vector<std::string> preserved;
  for (const std::string &name : options.methods)
    if (name != "forward") preserved.push_back(name);
  try {
    jit::freeze_module_inplace(&work, preserved);
  } catch (const c10::Error &e) {
    throw Unsupported(std::string("libtorch cannot freeze this model: ") +
                      e.what_without_backtrace());
  }
  return work;
}

void simplify(std::shared_ptr<jit::Graph> &graph, const Handles &handles) {
  for (jit::Value *input : graph->inputs()) input->setType(from_outside(input->type()));
  inline_calls_and_forks(*graph);
  pad_nested_tensors(*graph, handles);
  decompose(*graph);
  jit::LowerSimpleTuples(graph);
  do jit::ConstantPropagation(graph);
  while (fold_type_checks(*graph));
  jit::EliminateDeadCode(graph);
}

std::vector<Port> ports_of(const c10::FunctionSchema &schema, size_t skip) {
  std::vector<Port> out;
  for (size_t i = skip; i < schema.arguments().size(); i++) {
    const c10::Argument &arg = schema.arguments()[i];
    Port port;
    port.name = arg.name();
    port.type = from_c10(from_outside(arg.type()));
    if (arg.default_value()) port.initial = from_ivalue(*arg.default_value());
    out.push_back(std::move(port));
  }
  return out;
}

// "x" of "x.3"; "" if PyTorch's name is only a number.
std::string speaking_name(const jit::Value *v) {
  if (!v->hasDebugName()) return "";
  std::string name = v->debugName();
  name = name.substr(0, name.find('.'));
  const bool speaks = !name.empty() && name.find_first_not_of("0123456789_") != std::string::npos &&
                      name != "input" && name != "self";
  return speaks ? name : "";
}

std::vector<Port> outputs_of(const jit::Graph &graph, const std::vector<Port> &inputs) {
  std::vector<Port> out;
  const jit::Value *result = graph.outputs().at(0);
  const TypeRef type = from_c10(result->type());
  if (type->kind == RUSH_TYPE_NONE) return out;
  const bool tuple = type->kind == RUSH_TYPE_TUPLE;
  const size_t n = tuple ? type->items.size() : 1;
  std::set<std::string> taken;
  for (const Port &input : inputs) taken.insert(input.name);
  for (size_t i = 0; i < n; i++) {
    Port port;
    port.type = tuple ? type->items[i] : type;
    if (tuple && !type->fields.empty())
      port.name = type->fields[i];
    else if (!tuple)
      port.name = speaking_name(result);
    else if (result->node()->kind() == c10::prim::TupleConstruct)
      port.name = speaking_name(result->node()->inputs()[i]);
    out.push_back(std::move(port));
  }
  std::set<std::string> seen;
  bool unique = true;
  for (const Port &p : out)
    unique &= !p.name.empty() && seen.insert(p.name).second && !taken.count(p.name);
  if (unique || !type->fields.empty()) return out;
  for (size_t i = 0; i < n; i++) out[i].name = tuple ? "output_" + std::to_string(i) : "output";
  return out;
}

void drop_sources(Program *program) {
  for (Method &m : program->methods)
    for (Node *node : all_nodes(*m.graph)) node->source = {};
}

void add_method(Program *program, const std::string &name, const jit::Graph &graph,
                const c10::FunctionSchema &schema, const jit::Module *self,
                ConvertContext &context) {
  Method m;
  m.name = name;
  m.inputs = ports_of(schema, self ? 1 : 0);
  m.graph = convert(graph, self, context);
  if (m.graph->top.results.input(0)->type->kind != RUSH_TYPE_NONE)  // of an Optional, too
    m.outputs = outputs_of(graph, m.inputs);
  m.graph->name = name;
  for (const Port &port : m.inputs) {
    refuse_own_classes(*port.type, "the input '" + port.name + "'");
    if (port.type->kind == RUSH_TYPE_DEVICE)
      throw Unsupported("the input '" + port.name +
                        "' is a torch.device, and a file runs on the CPU alone: leave it out, and "
                        "have the program say torch.device('cpu') where it wants one");
  }
  refuse_own_classes(*from_c10(graph.outputs().at(0)->type()), "the result of " + name);
  program->methods.push_back(std::move(m));
}

Program new_program() {
  Program program;
  program.meta.emplace_back("producer", "rushlight");
  program.meta.emplace_back("torch", TORCH_VERSION);
  return program;
}

}  // namespace

std::optional<jit::Module> with_overload(
    const jit::Module &module, const std::string &name,
    const std::function<bool(const c10::FunctionSchema &)> &fits) {
  if (module.find_method(name)) return {};
  for (size_t i = 0;; i++) {
    const auto overload = module.find_method(name + "__" + std::to_string(i));
    if (!overload) return {};
    const c10::FunctionSchema &schema = overload->function().getSchema();
    if (!fits(schema)) continue;
    jit::Module out = of_own_class(module);
    const jit::Method own = out.get_method(overload->name());
    jit::Function *function = out._ivalue()->compilation_unit()->create_function(
        c10::QualifiedName(*out.type()->name(), name), own.graph()->copy());
    function->setSchema(own.function().getSchema().cloneWithName(name, ""));
    out.type()->addMethod(function);
    return out;
  }
}

std::vector<Port> inputs_of(const jit::Module &module, const std::string &method) {
  require_method(module, method);
  return ports_of(module.get_method(method).function().getSchema(), 1);
}

Program from_module(const jit::Module &module, const TorchScriptOptions &options) {
  Program program = new_program();
  if (options.texts) program.texts = texts_of(module);
  TensorNames names;
  for (const auto &a : module.named_attributes(/*recurse=*/true))
    if (a.value.isTensor() && a.value.toTensor().defined())
      names.add(from_torch(a.value.toTensor()), a.name);
  Handles handles;
  jit::Module work = frozen(module, options, &handles);
  ConvertContext context{&names, &handles, &program, {}, {}, {}, {}};
  for (const auto &a : module.named_attributes(/*recurse=*/true))
    if (a.value.isObject() && is_program_class(a.value.toObject()->type()))
      context.paths[a.value.toObject().get()] = a.name;
  std::vector<const jit::Graph *> graphs;
  for (const std::string &name : options.methods) {
    auto graph = work.get_method(name).graph();
    jit::OptimizeFrozenGraph(graph, /*optimize_numerics=*/false);  // fold_batch_norm does that
    simplify(graph, handles);
    graphs.push_back(graph.get());
  }
  context.as_values = objects_as_values(work, graphs);
  for (size_t i = 0; i < graphs.size(); i++)
    add_method(&program, options.methods[i], *graphs[i],
               work.get_method(options.methods[i]).function().getSchema(), &work, context);
  if (!options.sources) drop_sources(&program);
  return program;
}

Program from_function(jit::Function &function, const TorchScriptOptions &options) {
  Program program = new_program();
  if (options.texts) {
    program.texts.push_back(graph_text(function, ""));
    program.texts.push_back(code_text(function, ""));
  }
  auto graph = jit::toGraphFunction(function).graph()->copy();
  jit::EraseShapeInformation(graph);
  Handles handles;
  handles.number(*graph);
  scalar_operands(*graph);
  simplify(graph, handles);
  TensorNames names;
  ConvertContext context{&names, &handles, &program, {}, {}, {}, {}};
  add_method(&program, "forward", *graph, function.getSchema(), nullptr, context);
  if (!options.sources) drop_sources(&program);
  return program;
}

}  // namespace rush
