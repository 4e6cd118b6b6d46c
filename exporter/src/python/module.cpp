// The Python module rushlight._C. The public API is in python/rushlight/.
#include "base/files.h"
#include "cli/command_line.h"
#include "cli/torch_commands.h"
#include "export/export.h"
#include "export/pipeline.h"
#include "export/ports.h"
#include "export/tracing.h"
#include "front/from_c10.h"
#include "front/reference.h"
#include "front/schemas.h"
#include "front/torchscript.h"
#include "ir/unsupported.h"
#include "ir/verify.h"
#include "passes/passes.h"
#include "python/graph_builder.h"
#include "python/target.h"
#include "python/values.h"
#include "run/compare.h"
#include "run/diff.h"
#include "run/native.h"

namespace rush {

namespace {

// ---- Export

template <class T>
T option(const py::dict &options, const char *name) {
  return options[name].cast<T>();
}

// The fields of rushlight.Report.
py::dict fields_of(const Report &report) {
  py::dict out = py::module_::import("json").attr("loads")(to_json(report));
  out["text"] = to_string(report);
  return out;
}

// Replaces sources in code that FX generated: {file: {line: (file, line, function)}}.
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

// Reads constraints in the form of front/dynamic_shapes.py and exported_program/guards.py.
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

void ask_torch(ExportOptions *options) {
  options->calls = calls_during;
  options->operator_programs = program_of_operator;
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
  for (const auto &[name, bytes] :
       option<std::vector<std::pair<std::string, std::string>>>(settings, "assets"))
    options.assets.push_back({name, bytes});
  options.bits = bits_from_name(option<std::string>(settings, "quantize"));
  for (py::handle args : settings["calibration"].cast<py::list>()) {
    std::vector<Const> &batch = options.calibration.emplace_back();
    for (py::handle arg : args.cast<py::tuple>()) batch.push_back(from_python(arg));
  }
  options.dump_after = option<std::string>(settings, "dump_after");
  options.dump = [](const std::string &text) { py::print(text); };
  ask_torch(&options);
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
  return fields_of(export_program(program, options, python_reference(reference, target)));
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
  return fields_of(export_program(program, options, answers));
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
    throw std::invalid_argument(method + " must be given at most " +
                                std::to_string(target.argument_count(method)) + " inputs, got " +
                                std::to_string(args.size()));
  for (size_t i = 0; i < args.size(); i++) in.push_back(target.argument(method, i, args[i]));
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

// Runs the pass of that name on the text of a graph; "none" only parses it.
py::tuple run_pass_on_text(const std::string &text, const std::string &name) {
  Program program;
  program.methods.push_back({"forward", parse_graph(text), {}, {}});
  Graph &graph = *program.methods[0].graph;
  verify(graph);
  bool changed = false;
  if (name != "none") {
    const Pass &pass = find_pass(name);
    Quantized quantized;
    ExportOptions options;
    ask_torch(&options);
    changed = run_pass(pass, program, {options, {}, {}, nullptr, &quantized});
    verify(graph, {pass.gone.begin(), pass.gone.end()});
  }
  return py::make_tuple(to_string(graph), changed);
}

int tool(std::vector<std::string> arguments) {
  std::vector<char *> argv;
  for (std::string &text : arguments) argv.push_back(text.data());
  argv.push_back(nullptr);
  const py::gil_scoped_release no_gil;
  const int code = run_tool(static_cast<int>(arguments.size()), argv.data(), torch_commands());
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
  use_schemas_of_torch();
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const RuntimeError &e) {
      translate(e);
    } catch (const Unsupported &e) {
      translate(RuntimeError(RUSH_ERR_UNSUPPORTED, e.what()));
    } catch (const PyTorchError &e) {
      std::rethrow_exception(e.original);  // to the translator of its class
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
  m.def("run_pass", run_pass_on_text);
  m.def("operator_program_names", operator_program_names);
  m.def("for_complex", for_complex);
  m.def("operator_program_schema", operator_program_schema);
  m.def("has_op", [](const std::string &name) { return rush_has_op(name.c_str()); });
}

}  // namespace rush
