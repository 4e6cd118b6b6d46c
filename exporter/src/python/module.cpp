// The Python module rushlight._C. What users see is in python/rushlight/.
#include <chrono>

#include "base/files.h"
#include "cli/command_line.h"
#include "cli/tool.h"
#include "export/export.h"
#include "export/ports.h"
#include "export/reference.h"
#include "export/tracing.h"
#include "front/torchscript.h"
#include "inspect/weights.h"
#include "ir/from_c10.h"
#include "ir/unsupported.h"
#include "ir/verify.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "python/graph_builder.h"
#include "python/values.h"
#include "run/compare.h"
#include "run/diff.h"
#include "run/native.h"

namespace rush {

namespace {

// ---- Export

// Whether PyTorch guesses the type of some value in it, and has no guess for a list of several types.
bool is_guessed(const c10::TypePtr &type) {
  if (type->kind() == c10::TypeKind::UnionType || type->kind() == c10::TypeKind::AnyType)
    return true;
  for (const auto &inner : type->containedTypes())
    if (is_guessed(inner)) return true;
  return false;
}

// `n`: how often one number stands in a list of them where it comes alone (BroadcastingList).
Const value_of(py::handle value, const c10::TypePtr &type, std::optional<int32_t> n = {}) {
  try {
    return from_ivalue(torch::jit::toIValue(value, type, n));
  } catch (const c10::Error &) {
    if (!is_guessed(type)) throw;
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
    const c10::Argument &taken = schema(method).arguments().at(first_argument() + i);
    const TypeRef type = from_c10(taken.type());
    // named tuples come without their names
    return typed(value_of(as_tuples(value, *type), taken.type(), taken.N()), type);
  }
  Const result(const std::string &method, py::handle value) const {
    if (program)
      return typed(from_python(value), method_of(method).graph->top.results.input(0)->type);
    const c10::TypePtr &type = schema(method).returns().at(0).type();
    return value_of(as_tuples(value, *from_c10(type)), type);
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
    if (auto with_plain = with_plain_values(*out.function)) out.function = *with_plain;
    return out;
  }
  auto with_forward = with_overload(*out.module, "forward", [&](const c10::FunctionSchema &schema) {
    return fits(schema, args);
  });
  if (with_forward) out.module = *with_forward;
  if (auto hooked = with_hooks(*out.module)) out.module = *hooked;
  if (auto with_plain = with_plain_values(*out.module)) out.module = *with_plain;
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
  out.given = out.expected.has_value();
  out.rtol = from["rtol"].cast<double>();
  out.atol = from["atol"].cast<double>();
  out.store = from["store"].cast<bool>();
  out.only_compared = from["only_compared"].cast<bool>();
  return out;
}

py::tuple to_arguments(const std::vector<Const> &args) {
  py::tuple in(args.size());
  const std::vector<Const> copies = snapshot(args);
  for (size_t i = 0; i < copies.size(); i++) in[i] = to_python(copies[i]);
  return in;
}

Reference python_reference(py::object call, const Target &target) {
  return [call, &target](const std::string &method, const std::vector<Const> &args) {
    py::gil_scoped_acquire gil;
    return detached(target.result(method, call(method, to_arguments(args))));
  };
}

Tracer tracer_of(const Target &target, bool train) {
  return
      [&target, train](const std::string &method, const std::vector<Const> &args, bool in_double) {
        return target.module ? trace_module(*target.module, method, args, train, in_double)
                             : trace_function(*target.function->function_, args, in_double);
      };
}

// What rushlight.exported.trace says.
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
  return [call](const std::string &, const std::vector<Const> &args, bool in_double) {
    return trace_of(call(to_arguments(args), in_double));
  };
}

GraphAnswer python_graph(py::object call, const Target &target) {
  return
      [call, &target](const std::string &method, const std::vector<Const> &args, bool in_double) {
        return detached(target.result(method, call(to_arguments(args), in_double)));
      };
}

template <class T>
T option(const py::dict &options, const char *name) {
  return options[name].cast<T>();
}

py::dict distance_dict(const rush_distance &d) {
  py::dict out;
  out["max"] = d.max;
  out["l2"] = d.l2;
  return out;
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
  out["tried"] = r.tried;
  out["not_verified"] = r.not_verified;
  out["max_abs"] = r.max_abs;
  out["max_rel"] = r.max_rel;
  out["measured"] = r.measured;
  out["pytorch"] = distance_dict(r.pytorch);
  out["rushlight"] = distance_dict(r.own);
  out["difference"] = distance_dict(r.between);
  out["not_measured"] = r.not_measured;
  out["random"] = r.random;
  const Quantized &q = r.quantized;
  out["quantized"] = py::none();
  using namespace py::literals;
  if (q.name.empty()) return out;
  const auto figure = [&](double x) -> py::object {
    return q.measured ? py::object(py::float_(x)) : py::none();
  };
  py::object rows = py::none();
  if (q.has_rows)
    rows = py::dict("pytorch"_a = q.rows, "rushlight"_a = q.own_rows, "matched"_a = q.matched_rows);
  out["quantized"] =
      py::dict("bits"_a = q.name, "layers"_a = q.layers, "kept"_a = q.kept, "before"_a = q.before,
               "after"_a = q.after, "max"_a = figure(q.max), "l2"_a = figure(q.l2),
               "cosine"_a = figure(q.cosine), "rows"_a = rows);
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

// As rushlight.dynamic and rushlight.exported.guards have them.
std::vector<Constraint> constraints_from(py::handle from) {
  using Multiple = std::tuple<std::string, int64_t, bool>;
  using Row = std::tuple<int64_t, std::string, int64_t, std::optional<int64_t>, bool,
                         std::optional<size_t>, std::optional<Multiple>>;
  std::vector<Constraint> out;
  for (const auto &[dim, name, least, most, varies, leaf, multiple] :
       from.cast<std::vector<Row>>()) {
    const auto &[root, factor, checked] = multiple.value_or(Multiple("", 1, true));
    out.push_back({0, dim, name, least, most.value_or(INT64_MAX), varies, leaf.has_value(),
                   leaf.value_or(0), root, factor, checked});
  }
  return out;
}

ExportOptions options_of(const py::dict &settings) {
  ExportOptions options;
  options.path = option<std::string>(settings, "path");
  options.input_names = option<std::vector<std::string>>(settings, "input_names");
  options.output_names = option<std::vector<std::string>>(settings, "output_names");
  options.verify = option<bool>(settings, "verify");
  options.tracer_warned = option<bool>(settings, "tracer_warned");
  options.test_vectors = option<bool>(settings, "test_vectors");
  options.allow_missing = option<bool>(settings, "allow_missing");
  options.bits = bits_from_name(option<std::string>(settings, "quantize"));
  for (py::handle args : settings["calibration"].cast<py::list>()) {
    std::vector<Const> &batch = options.calibration.emplace_back();
    for (py::handle arg : args.cast<py::tuple>()) batch.push_back(from_python(arg));
  }
  options.dump_after = option<std::string>(settings, "dump_after");
  options.dump = [](const std::string &text) { py::print(text); };
  for (py::handle item : settings["dynamic"].cast<py::list>()) {
    const py::tuple pair = item.cast<py::tuple>();
    options.dynamic.emplace_back(pair[0].cast<std::string>(), constraints_from(pair[1]));
  }
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
  port.dtype = static_cast<int>(from["dtype"].cast<at::ScalarType>());
  port.sizes = from["sizes"].cast<std::vector<int64_t>>();
  return port;
}

// A program as rushlight.exported describes it.
Program program_of(const py::dict &from) {
  Program program;
  Method m;
  m.name = "forward";
  from["graph"].cast<GraphBuilder &>().finish(&program, &m);
  size_t i = 0;
  for (py::handle port : from["inputs"].cast<py::list>())
    m.inputs.push_back(port_of(port.cast<py::dict>(), m.graph->top.params.at(i++)->type));
  for (py::handle port : from["outputs"].cast<py::list>())
    m.outputs.push_back(
        port_of(port.cast<py::dict>(), port.cast<py::dict>()["type"].cast<PythonType>().type));
  program.methods.push_back(std::move(m));
  for (auto [kind, text] : from["texts"].cast<std::map<int, std::string>>())
    program.texts.push_back({"", static_cast<rush_text_kind>(kind), text});
  for (auto [key, value] : from["meta"].cast<std::map<std::string, std::string>>())
    program.meta.emplace_back(key, value);
  return program;
}

py::dict export_graph(const py::dict &description, const py::dict &settings,
                      const py::list &examples, py::object reference, py::object answers,
                      py::object tracer) {
  Program program = program_of(description);
  Target target;
  target.program = &program;
  ExportOptions options = options_of(settings);
  options.graph = python_graph(answers, target);
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
  options.graph =
      target.module ? graph_of(*target.module, front) : graph_of(*target.function->function_);
  options.graph_is_reference = reference.is_none();
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
  const Tracer tracer = tracer_of(target, train);
  const bool literal = rtol >= 0 || atol >= 0;
  return divergence_dict(diff(*session, session->method(method), in,
                              literal ? tracer(method, in, false) : trace_both(tracer, method, in),
                              rtol, atol));
}

py::dict diff_graph(const std::string &path, const py::tuple &args, py::object tracer, double rtol,
                    double atol) {
  const std::unique_ptr<NativeSession> session = NativeSession::open(path);
  std::vector<Const> in;
  for (py::handle arg : args) in.push_back(from_python(arg));
  const Tracer traces = python_tracer(tracer);
  const bool literal = rtol >= 0 || atol >= 0;
  return divergence_dict(diff(
      *session, 0, in, literal ? traces("", in, false) : trace_both(traces, "", in), rtol, atol));
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
  if (name == "none") {
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
  for (const auto *passes : {&pipeline(), &late_pipeline()})
    for (const Pass &pass : *passes) out.emplace_back(pass.name);
  return out;
}

// ---- Sessions

// Whether a signal's handler raised an exception, KeyboardInterrupt for Ctrl-C. Asked every few
// milliseconds from where Python's lock is not held, and twenty times a second it is taken.
bool interrupted(void *) {
  thread_local std::chrono::steady_clock::time_point last;
  const auto now = std::chrono::steady_clock::now();
  if (now - last < std::chrono::milliseconds(50)) return false;
  last = now;
  const py::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

// Runs without Python's lock; what a signal's handler raised comes out instead of a failure.
template <class F>
auto interruptible(F f) -> decltype(f()) {
  try {
    const py::gil_scoped_release no_gil;
    return f();
  } catch (const RuntimeError &e) {
    if (e.status == RUSH_ERR_INTERRUPTED && PyErr_Occurred()) throw py::error_already_set();
    throw;
  }
}

std::unique_ptr<NativeSession> open_session(py::object from, size_t bytes, uint64_t steps,
                                            unsigned threads) {
  const bool inside = py::isinstance<py::bytes>(from);
  const std::string text = (inside ? from : py::str(from)).cast<std::string>();
  const Limits limits{bytes, steps, interrupted, threads};
  auto session = interruptible([&] {
    return inside ? std::make_unique<NativeSession>(text, limits)
                  : NativeSession::open(text, limits);
  });
  session->print_as_torch();
  return session;
}

std::unique_ptr<NativeSession> clone_session(const NativeSession &session, size_t bytes,
                                             uint64_t steps, unsigned threads) {
  auto clone = std::make_unique<NativeSession>(session, Limits{bytes, steps, interrupted, threads});
  clone->print_as_torch();
  return clone;
}

// The binding of a function that uses a session's context: one at a time.
template <class Result, class... Arguments>
auto in_turn(Result (*f)(NativeSession &, Arguments...)) {
  return [f](NativeSession &session, Arguments... arguments) {
    const NativeSession::Turn turn(session);
    return f(session, arguments...);
  };
}

py::object run_session(NativeSession &session, const std::string &method, const py::tuple &args) {
  const size_t at = session.method(method);
  const std::vector<TypeRef> &types = session.input_types(at);
  std::vector<Const> in;
  for (py::handle arg : args) {
    const TypeRef type = in.size() < types.size() ? types[in.size()] : make_type(RUSH_TYPE_ANY);
    in.push_back(typed(from_python(as_tuples(arg, *type)), type, as_argument));
  }
  Const out = interruptible([&] { return session.run(at, in); });
  return to_python(typed(std::move(out), with_names_of_python(session.result_type(at))));
}

py::dict session_state(NativeSession &session) {
  py::dict out;
  for (auto &[name, value] : session.state()) out[py::str(name)] = to_python(std::move(value));
  return out;
}

void set_session_state(NativeSession &session, const py::dict &values) {
  std::vector<std::pair<size_t, Const>> in;
  for (const auto &[name, value] : values)
    in.emplace_back(session.attribute(py::str(name).cast<std::string>()), from_python(value));
  session.set_state(in);
}

py::tuple verify_session(NativeSession &session, size_t test) {
  rush_verify_report r = {};
  interruptible([&] { session.verify(test, &r); });
  return py::make_tuple(r.max_abs, r.max_rel, r.compared, r.measured, distance_dict(r.pytorch),
                        distance_dict(r.own), distance_dict(r.between));
}

py::str describe_session(NativeSession &session) {
  char *text;
  size_t size;
  session.check(
      rush_model_describe(session.ctx(), session.model(), RUSH_DESCRIBE_JSON, &text, &size));
  const py::str out(text);
  rush_free(session.ctx(), text, size);
  return out;
}

void reset_session(NativeSession &session) {
  session.reset();
}

void seed_session(NativeSession &session, uint64_t seed) {
  session.manual_seed(seed);
}

template <class Count, class Name>
std::vector<std::string> port_names(const NativeSession &s, const std::string &method, Count count,
                                    Name name) {
  const size_t m = s.method(method);
  std::vector<std::string> out;
  for (size_t i = 0; i < count(s.model(), m); i++) out.emplace_back(name(s.model(), m, i));
  return out;
}

int tool(std::vector<std::string> arguments) {
  std::vector<char *> argv;
  for (std::string &text : arguments) argv.push_back(text.data());
  argv.push_back(nullptr);
  const py::gil_scoped_release no_gil;
  const int code = run_tool(static_cast<int>(arguments.size()), argv.data());
  std::fflush(stdout);
  return code;
}

void translate(const RuntimeError &e) {
  py::object error = py::module_::import("rushlight.base.errors").attr("RushlightError");
  const auto known = [](const std::string &text) -> py::object {
    return text.empty() ? py::object(py::none())
                        : py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
                              text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  };
  const py::object message = known(e.what());
  PyErr_SetObject(error.ptr(),
                  error(rush_status_name(e.status), message.is_none() ? py::str("") : message,
                        known(e.op), known(e.source), known(e.baked))
                      .ptr());
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
  define_graph(m);
  m.def("tool", tool);
  m.def("stored_path", stored_path);
  m.def("unique_names", unique_names);
  m.def("is_torchs_own", is_torchs_own);
  m.def("run_pass", run_pass);
  m.def("pass_names", pass_names);
  m.def("operator_program_names", operator_program_names);
  m.def("for_complex", for_complex);
  m.def("operator_program_schema", operator_program_schema);
  m.def("has_op", [](const std::string &name) { return rush_has_op(name.c_str()); });
  m.def("version", [] { return rush_version(); });
  m.def("describe", [](const std::string &path, bool json) {
    return describe_file(path, json ? RUSH_DESCRIBE_JSON : RUSH_DESCRIBE_TEXT);
  });
  m.def("write_safetensors", write_safetensors);
  py::class_<NativeSession>(m, "Session")
      .def(py::init(&open_session))
      .def("clone", clone_session)
      .def("run", in_turn(run_session))
      .def("state", in_turn(session_state))
      .def("set_state", in_turn(set_session_state))
      .def("reset", in_turn(reset_session))
      .def("manual_seed", in_turn(seed_session))
      .def("verify", in_turn(verify_session))
      .def("describe", in_turn(describe_session))
      .def("test_count", &NativeSession::test_count)
      .def("stateful",
           [](const NativeSession &s) { return rush_model_attribute_count(s.model()) > 0; })
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
