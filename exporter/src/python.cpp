// The Python module rushlight._C. What users see is in python/rushlight/.
#include <torch/csrc/jit/python/pybind_utils.h>

#include "cli.h"
#include "front/torchscript.h"
#include "inspect/weights.h"
#include "ir/from_c10.h"
#include "ir/parse.h"
#include "ir/unsupported.h"
#include "ir/verify.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "reference.h"
#include "run/compare.h"
#include "run/diff.h"
#include "run/native.h"

namespace py = pybind11;

namespace rush {

namespace {

// ---- Values

Const from_python(py::handle value) {
  if (value.is_none()) return const_none();
  if (THPVariable_Check(value.ptr())) return const_tensor(py::cast<at::Tensor>(value).detach());
  if (PyBool_Check(value.ptr())) return const_bool(value.cast<bool>());
  if (PyLong_Check(value.ptr())) return const_int(value.cast<int64_t>());
  if (PyFloat_Check(value.ptr())) return const_float(value.cast<double>());
  if (PyUnicode_Check(value.ptr())) return const_str(value.cast<std::string>());
  Const c;
  const TypeRef any = make_type(RUSH_TYPE_ANY);
  if (PyComplex_Check(value.ptr())) {
    const auto z = value.cast<std::complex<double>>();
    c.kind = RUSH_CONST_COMPLEX;
    c.f = z.real();
    c.im = z.imag();
  } else if (py::isinstance<py::list>(value)) {
    c.kind = RUSH_CONST_LIST;
    c.type = list_of(any);
    for (py::handle item : value) c.items.push_back(from_python(item));
  } else if (py::isinstance<py::tuple>(value)) {
    c.kind = RUSH_CONST_TUPLE;
    for (py::handle item : value) c.items.push_back(from_python(item));
    std::vector<TypeRef> types;
    for (const Const &item : c.items) types.push_back(type_of(item));
    c.type = make_type(RUSH_TYPE_TUPLE, std::move(types));
  } else if (py::isinstance<py::dict>(value)) {
    c.kind = RUSH_CONST_DICT;
    c.type = make_type(RUSH_TYPE_DICT, {any, any});
    for (auto item : py::reinterpret_borrow<py::dict>(value)) {
      c.items.push_back(from_python(item.first));
      c.items.push_back(from_python(item.second));
    }
  } else if (py::hasattr(value, "__dataclass_fields__")) {
    // As torch.export has it: a tuple of its fields that are not None.
    py::list fields;
    for (py::handle field : py::module_::import("dataclasses").attr("fields")(value)) {
      const py::object item = value.attr(field.attr("name"));
      if (!item.is_none()) fields.append(item);
    }
    return from_python(py::tuple(fields));
  } else if (PyNumber_Check(value.ptr()) && !PySequence_Check(value.ptr())) {  // NumPy's scalars
    return PyIndex_Check(value.ptr())
               ? const_int(py::reinterpret_steal<py::int_>(PyNumber_Index(value.ptr())))
               : const_float(py::float_(py::reinterpret_borrow<py::object>(value)));
  } else {
    throw py::type_error("a value of type " + std::string(Py_TYPE(value.ptr())->tp_name) +
                         " cannot be passed to a model");
  }
  return c;
}

py::object to_python(const Const &value) {
  return torch::jit::toPyObject(to_ivalue(value));
}

// A single value as a type of this kind has it.
using Cast = Const (*)(Const, int kind);

Const float_of_int(Const c, int kind) {
  return kind == RUSH_TYPE_FLOAT && c.is_int() ? const_float(c.number()) : c;
}

// As PyTorch takes an argument (toIValue): also a bool for a number, a number for a bool, and a
// tensor of one element for either.
Const as_argument(Const c, int kind) {
  const bool one = c.is_tensor() && c.tensor.numel() == 1;
  if (kind == RUSH_TYPE_FLOAT && one) return const_float(c.tensor.item<double>());
  if (kind == RUSH_TYPE_INT && one) return const_int(c.tensor.item<int64_t>());
  if (kind == RUSH_TYPE_BOOL && one) return const_bool(c.tensor.item<bool>());
  if (kind == RUSH_TYPE_FLOAT && c.is_number()) return const_float(c.number());
  if (kind == RUSH_TYPE_INT && c.is_bool()) return const_int(c.i);
  if (kind == RUSH_TYPE_BOOL && c.is_number()) return const_bool(c.number() != 0);
  return c;
}

// The value as the type has it: lists get their items' type, single values are cast.
Const typed(Const c, const TypeRef &type, Cast cast = float_of_int) {
  switch (type->kind) {
    case RUSH_TYPE_OPTIONAL:
      return c.is_none() ? c : typed(std::move(c), type->items[0], cast);
    case RUSH_TYPE_UNION:
      for (const TypeRef &member : type->items) {
        Const as_member = typed(c, member, cast);
        if (as_member.type == member && as_member.kind == c.kind) return as_member;
      }
      return c;
    case RUSH_TYPE_LIST:
      if (!c.is_list() && c.kind != RUSH_CONST_TUPLE) return c;
      c.kind = RUSH_CONST_LIST;
      for (Const &item : c.items) item = typed(std::move(item), type->items[0], cast);
      break;
    case RUSH_TYPE_TUPLE:
      if ((!c.is_list() && c.kind != RUSH_CONST_TUPLE) || c.items.size() != type->items.size())
        return c;
      c.kind = RUSH_CONST_TUPLE;
      for (size_t i = 0; i < c.items.size(); i++)
        c.items[i] = typed(std::move(c.items[i]), type->items[i], cast);
      break;
    case RUSH_TYPE_DICT:
      if (c.kind != RUSH_CONST_DICT) return c;
      for (size_t i = 0; i < c.items.size(); i++)
        c.items[i] = typed(std::move(c.items[i]), type->items[i % 2], cast);
      break;
    default:
      return cast(std::move(c), type->kind);
  }
  c.type = type;
  return c;
}

// ---- Export

bool holds_union(const c10::TypePtr &type) {
  if (type->kind() == c10::TypeKind::UnionType) return true;
  for (const auto &inner : type->containedTypes())
    if (holds_union(inner)) return true;
  return false;
}

Const value_of(py::handle value, const c10::TypePtr &type) {
  try {
    return from_ivalue(torch::jit::toIValue(value, type));
  } catch (const c10::Error &) {
    if (!holds_union(type)) throw;  // PyTorch guesses, and has no guess for a list of several types
    return typed(from_python(value), from_c10(type));
  }
}

// What is exported: TorchScript, or a program that Python made.
struct Target {
  std::optional<torch::jit::Module> module;
  std::optional<torch::jit::StrongFunctionPtr> function;
  const Program *program = nullptr;

  size_t argument_count(const std::string &method) const {
    return program ? method_of(method).inputs.size()
                   : schema(method).arguments().size() - first_argument();
  }
  Const argument(const std::string &method, size_t i, py::handle value) const {
    if (program) return typed(from_python(value), method_of(method).inputs.at(i).type);
    const c10::TypePtr type = schema(method).arguments().at(first_argument() + i).type();
    return typed(value_of(value, type), from_c10(type));  // named tuples come without their names
  }
  Const result(const std::string &method, py::handle value) const {
    if (program)
      return typed(from_python(value), method_of(method).graph->top.results.input(0)->type);
    return value_of(value, schema(method).returns().at(0).type());
  }

 private:
  size_t first_argument() const { return module ? 1 : 0; }
  const c10::FunctionSchema &schema(const std::string &method) const {
    if (function) return function->function_->getSchema();
    if (!module->find_method(method))
      throw std::invalid_argument("the model has no method '" + method + "'");
    return module->get_method(method).function().getSchema();
  }
  const Method &method_of(const std::string &name) const {
    for (const Method &m : program->methods)
      if (m.name == name) return m;
    throw std::invalid_argument("the model has no method '" + name + "'");
  }
};

// Whether a method takes these arguments.
bool fits(const c10::FunctionSchema &schema, const py::tuple &args) {
  if (args.size() + 1 > schema.arguments().size()) return false;
  try {
    for (size_t i = 0; i < args.size(); i++) value_of(args[i], schema.arguments()[i + 1].type());
  } catch (const std::exception &) {
    return false;
  }
  return true;
}

// `args` choose between overloads of forward.
Target target_of(py::object object, const py::tuple &args) {
  Target out;
  if (py::isinstance<py::str>(object)) {
    out.module = load_torchscript(object.cast<std::string>());
  } else if (auto module = torch::jit::as_module(object)) {
    out.module = *module;
  } else {
    out.function = object.cast<torch::jit::StrongFunctionPtr>();
    return out;
  }
  auto with_forward = with_overload(*out.module, "forward", [&](const c10::FunctionSchema &schema) {
    return fits(schema, args);
  });
  if (with_forward) out.module = *with_forward;
  return out;
}

Const detached(Const c) {
  if (c.tensor.defined()) c.tensor = c.tensor.detach();
  for (Const &item : c.items) item = detached(std::move(item));
  return c;
}

Example example_of(const py::dict &from, const Target &target) {
  Example out;
  out.method = from["method"].cast<std::string>();
  const py::tuple args = from["args"].cast<py::tuple>();
  if (args.size() > target.argument_count(out.method))
    throw std::invalid_argument("an example has more inputs than " + out.method + " takes");
  for (size_t i = 0; i < args.size(); i++)
    out.args.push_back(detached(target.argument(out.method, i, args[i])));
  out.args = snapshot(out.args);
  if (from.contains("expected"))
    out.expected = snapshot({detached(target.result(out.method, from["expected"]))})[0];
  out.rtol = from["rtol"].cast<double>();
  out.atol = from["atol"].cast<double>();
  out.store = from["store"].cast<bool>();
  return out;
}

Reference python_reference(py::object call, const Target &target) {
  return [call, &target](const std::string &method, const std::vector<Const> &args) {
    py::gil_scoped_acquire gil;
    py::tuple in(args.size());
    const std::vector<Const> copies = snapshot(args);
    for (size_t i = 0; i < copies.size(); i++) in[i] = to_python(copies[i]);
    return detached(target.result(method, call(method, in)));
  };
}

Tracer tracer_of(const Target &target, bool train) {
  return [&target, train](const std::string &method, const std::vector<Const> &args) {
    return target.module ? trace_module(*target.module, method, args, train)
                         : trace_function(*target.function->function_, args);
  };
}

// What program_trace.py says.
Trace trace_of(const py::list &items) {
  Trace out;
  for (py::handle item : items) {
    const py::tuple pair = item.cast<py::tuple>();
    Traced node;
    node.handle = pair[0].cast<uint64_t>();
    for (py::handle value : pair[1].cast<py::list>())
      node.results.push_back(detached(from_python(value)));
    out.nodes.push_back(std::move(node));
  }
  return out;
}

Tracer python_tracer(py::object call) {
  return [call](const std::string &, const std::vector<Const> &args) {
    py::tuple in(args.size());
    const std::vector<Const> copies = snapshot(args);
    for (size_t i = 0; i < copies.size(); i++) in[i] = to_python(copies[i]);
    return trace_of(call(in));
  };
}

template <class T>
T option(const py::dict &options, const char *name) {
  return options[name].cast<T>();
}

py::dict report_dict(const Report &r) {
  auto counts = [](const std::vector<OpCount> &rows) {
    py::dict out;
    for (const OpCount &row : rows) out[row.op.c_str()] = row.count;
    return out;
  };
  py::dict out;
  out["text"] = to_string(r);
  out["path"] = r.path;
  out["ops"] = counts(r.ops);
  out["missing"] = counts(r.missing);
  out["warnings"] = r.warnings;
  out["inputs"] = r.inputs;
  out["outputs"] = r.outputs;
  out["state"] = r.state;
  out["file_bytes"] = r.file_bytes;
  out["weights_bytes"] = r.weights_bytes;
  out["test_vectors"] = r.test_vectors;
  out["verified"] = r.verified;
  out["not_verified"] = r.not_verified;
  out["max_abs"] = r.max_abs;
  out["max_rel"] = r.max_rel;
  return out;
}

// Code that Python generated (FX) says where it comes from: {file: {line: (file, line, function)}}.
void place_generated_code(Program &program, const py::dict &lines) {
  std::map<std::pair<std::string, uint32_t>, Source> sources;
  for (auto file : lines)
    for (auto line : py::reinterpret_borrow<py::dict>(file.second)) {
      const py::tuple at = py::reinterpret_borrow<py::tuple>(line.second);
      Source &out = sources[{file.first.cast<std::string>(), line.first.cast<uint32_t>()}];
      out.file = at[0].cast<std::string>();
      out.line = at[1].cast<uint32_t>();
      out.function = at[2].cast<std::string>();
    }
  if (sources.empty()) return;
  for (Method &m : program.methods)
    for (Node *node : all_nodes(*m.graph)) {
      auto found = sources.find({node->source.file, node->source.line});
      if (found == sources.end()) continue;
      node->source.file = found->second.file;
      node->source.line = found->second.line;
      node->source.function = found->second.function;
    }
}

ExportOptions options_of(const py::dict &settings) {
  ExportOptions options;
  options.path = option<std::string>(settings, "path");
  options.input_names = option<std::vector<std::string>>(settings, "input_names");
  options.output_names = option<std::vector<std::string>>(settings, "output_names");
  options.verify = option<bool>(settings, "verify");
  options.test_vectors = option<bool>(settings, "test_vectors");
  options.allow_missing = option<bool>(settings, "allow_missing");
  options.dump_after = option<std::string>(settings, "dump_after");
  options.dump = [](const std::string &text) { py::print(text); };
  for (auto item : settings["dynamic"].cast<py::dict>())
    options.dynamic.emplace_back(item.first.cast<std::string>(),
                                 item.second.cast<std::vector<int64_t>>());
  for (const std::string &spec : option<std::vector<std::string>>(settings, "inputs"))
    options.inputs.push_back(parse_input(spec));
  for (auto item : settings["decompositions"].cast<py::dict>()) {
    TorchScriptOptions front;
    front.texts = false;
    Program made =
        from_function(*item.second.cast<torch::jit::StrongFunctionPtr>().function_, front);
    options.decompositions[item.first.cast<std::string>()] = std::move(made.methods[0].graph);
  }
  return options;
}

Port port_of(const py::dict &from, const TypeRef &type) {
  Port port;
  port.name = from["name"].cast<std::string>();
  port.type = type;
  if (from.contains("initial")) port.initial = typed(from_python(from["initial"]), type);
  if (!from.contains("dtype")) return port;
  port.has_hint = port.rank_known = true;
  port.dtype = from["dtype"].cast<int>();
  port.sizes = from["sizes"].cast<std::vector<int64_t>>();
  return port;
}

// A program as Python describes it: program.py says what is in it.
Program program_of(const py::dict &from) {
  Program program;
  for (py::handle t : from["tensors"].cast<py::list>())
    program.attributes.push_back({t.cast<py::tuple>()[0].cast<std::string>(), tensor_type(),
                                  const_tensor(t.cast<py::tuple>()[1].cast<at::Tensor>().detach(),
                                               t.cast<py::tuple>()[0].cast<std::string>())});
  std::vector<Const> tensors;
  for (const Attribute &a : program.attributes) tensors.push_back(a.initial);
  Method m;
  m.name = "forward";
  m.graph = parse_graph(from["graph"].cast<std::string>(), tensors);
  m.graph->name = m.name;
  size_t i = 0;
  for (py::handle port : from["inputs"].cast<py::list>())
    m.inputs.push_back(port_of(port.cast<py::dict>(), m.graph->top.params.at(i++)->type));
  for (py::handle port : from["outputs"].cast<py::list>())
    m.outputs.push_back(port_of(port.cast<py::dict>(),
                                graph_type(port.cast<py::dict>()["type"].cast<std::string>())));
  program.methods.push_back(std::move(m));
  for (auto [kind, text] : from["texts"].cast<std::map<int, std::string>>())
    program.texts.push_back({"", static_cast<rush_text_kind>(kind), text});
  for (auto [key, value] : from["meta"].cast<std::map<std::string, std::string>>())
    program.meta.emplace_back(key, value);
  return program;
}

py::dict export_graph(const py::dict &description, const py::dict &settings,
                      const py::list &examples, py::object reference, py::object tracer) {
  Program program = program_of(description);
  Target target;
  target.program = &program;
  ExportOptions options = options_of(settings);
  for (Method &m : program.methods)
    for (Node *node : all_nodes(*m.graph))
      if (!options.decompositions.count(node->op))
        if (auto graph = program_of_operator(node->op)) options.decompositions[node->op] = graph;
  if (!tracer.is_none()) options.tracer = python_tracer(tracer);
  for (py::handle e : examples) options.examples.push_back(example_of(e.cast<py::dict>(), target));
  return report_dict(export_program(program, options, python_reference(reference, target)));
}

py::dict export_model(py::object object, const py::dict &settings, const py::list &examples,
                      py::object reference) {
  prepare_torchscript();
  const Target target =
      target_of(object, examples.empty() ? py::tuple() : examples[0]["args"].cast<py::tuple>());
  TorchScriptOptions front;
  front.methods = option<std::vector<std::string>>(settings, "methods");
  front.train = option<bool>(settings, "train");
  front.texts = front.sources = option<bool>(settings, "source");
  Program program = target.module ? from_module(*target.module, front)
                                  : from_function(*target.function->function_, front);
  if (settings.contains("lines") && front.sources)
    place_generated_code(program, settings["lines"].cast<py::dict>());
  ExportOptions options = options_of(settings);
  if (option<bool>(settings, "trace")) options.tracer = tracer_of(target, front.train);
  for (py::handle e : examples) options.examples.push_back(example_of(e.cast<py::dict>(), target));
  Reference answers = !reference.is_none() ? python_reference(reference, target)
                      : target.module      ? reference_of(*target.module, front)
                                           : reference_of(*target.function->function_);
  return report_dict(export_program(program, options, answers));
}

// ---- Where a file and PyTorch part

py::dict divergence_dict(const Divergence &d) {
  py::dict out;
  out["text"] = to_string(d);
  out["agree"] = d.agree;
  out["where"] = d.where;
  out["compared"] = d.compared;
  out["unpaired"] = d.unpaired;
  out["max_abs"] = d.max_abs;
  out["max_rel"] = d.max_rel;
  return out;
}

py::dict diff_model(const std::string &path, py::object object, const std::string &method,
                    const py::tuple &args, bool train, double rtol, double atol) {
  prepare_torchscript();
  const std::unique_ptr<NativeSession> session = NativeSession::open(path);
  const Target target = target_of(object, args);
  std::vector<Const> in;
  if (args.size() > target.argument_count(method))
    throw std::invalid_argument(method + " takes fewer inputs than are given");
  for (size_t i = 0; i < args.size(); i++)
    in.push_back(detached(target.argument(method, i, args[i])));
  return divergence_dict(diff(*session, session->method(method), in,
                              tracer_of(target, train)(method, in), rtol, atol));
}

py::dict diff_graph(const std::string &path, const py::tuple &args, const py::list &traced,
                    double rtol, double atol) {
  const std::unique_ptr<NativeSession> session = NativeSession::open(path);
  std::vector<Const> in;
  for (py::handle arg : args) in.push_back(from_python(arg));
  return divergence_dict(diff(*session, 0, in, trace_of(traced), rtol, atol));
}

py::dict diff_file(const std::string &path) {
  return divergence_dict(diff_test(*NativeSession::open(path), 0));
}

// ---- Passes as text

py::tuple run_pass(const std::string &text, const std::string &name) {
  Program program;
  Method m;
  m.name = "forward";
  m.graph = parse_graph(text);
  program.methods.push_back(std::move(m));
  Graph &graph = *program.methods[0].graph;
  verify(graph);
  bool changed;
  if (name == "scalar_operands") {  // of the TorchScript front
    changed = scalar_operands(graph);
  } else if (name == "none") {
    changed = false;
  } else {
    const Pass *pass = find_pass(name);
    if (!pass) throw std::invalid_argument("there is no pass '" + name + "'");
    changed = pass->on_graph ? pass->on_graph(graph) : pass->on_program(program);
    verify(graph, {pass->gone.begin(), pass->gone.end()});
  }
  verify(graph);
  return py::make_tuple(to_string(graph), changed);
}

std::vector<std::string> pass_names() {
  std::vector<std::string> out;
  for (const Pass &pass : pipeline()) out.emplace_back(pass.name);
  return out;
}

// ---- Sessions

std::unique_ptr<NativeSession> open_session(py::object from) {
  auto session = py::isinstance<py::bytes>(from)
                     ? std::make_unique<NativeSession>(from.cast<std::string>())
                     : NativeSession::open(py::str(from).cast<std::string>());
  session->print_as_torch();
  return session;
}

py::object run_session(NativeSession &session, const std::string &method, const py::tuple &args) {
  const size_t at = session.method(method);
  const std::vector<TypeRef> &types = session.input_types(at);
  std::vector<Const> in;
  for (py::handle arg : args) {
    in.push_back(from_python(arg));
    if (in.size() <= types.size())
      in.back() = typed(std::move(in.back()), types[in.size() - 1], as_argument);
  }
  Const out;
  {
    py::gil_scoped_release no_gil;
    out = session.run(at, in);
  }
  return to_python(typed(std::move(out), session.result_type(at)));
}

template <class Count, class Name>
std::vector<std::string> port_names(const NativeSession &s, const std::string &method, Count count,
                                    Name name) {
  const size_t m = s.method(method);
  std::vector<std::string> out;
  for (size_t i = 0; i < count(s.model(), m); i++) out.emplace_back(name(s.model(), m, i));
  return out;
}

void translate(const RuntimeError &e) {
  py::object error = py::module_::import("rushlight.errors").attr("RushlightError");
  PyErr_SetObject(error.ptr(), error(rush_status_name(e.status), e.what()).ptr());
}

}  // namespace

PYBIND11_MODULE(_C, m) {
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const RuntimeError &e) {
      translate(e);
    } catch (const Unsupported &e) {
      translate(RuntimeError(RUSH_ERR_UNSUPPORTED, e.what()));
    } catch (const UsageError &e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    }
  });
  m.def("export_model", export_model);
  m.def("export_graph", export_graph);
  m.def("diff_model", diff_model);
  m.def("diff_graph", diff_graph);
  m.def("diff_file", diff_file);
  m.def("run_pass", run_pass);
  m.def("pass_names", pass_names);
  m.def("has_op", [](const std::string &name) { return rush_has_op(name.c_str()); });
  m.def("version", [] { return rush_version(); });
  m.def("describe", [](const std::string &path, bool json) {
    return describe_file(path, json ? RUSH_DESCRIBE_JSON : RUSH_DESCRIBE_TEXT);
  });
  m.def("write_safetensors", write_safetensors);
  py::class_<NativeSession>(m, "Session")
      .def(py::init(&open_session))
      .def("run", run_session)
      .def("reset", &NativeSession::reset)
      .def("manual_seed", &NativeSession::manual_seed)
      .def("test_count", &NativeSession::test_count)
      .def("verify",
           [](NativeSession &s, size_t i) {
             rush_verify_report r = s.verify(i);
             return py::make_tuple(r.max_abs, r.max_rel, r.compared);
           })
      .def("methods",
           [](const NativeSession &s) {
             std::vector<std::string> out;
             for (size_t i = 0; i < rush_model_method_count(s.model()); i++)
               out.emplace_back(rush_model_method_name(s.model(), i));
             return out;
           })
      .def("inputs",
           [](const NativeSession &s, const std::string &method) {
             return port_names(s, method, rush_model_input_count, rush_model_input_name);
           })
      .def("outputs", [](const NativeSession &s, const std::string &method) {
        return port_names(s, method, rush_model_output_count, rush_model_output_name);
      });
}

}  // namespace rush
