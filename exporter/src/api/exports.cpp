// Functions that export and compare programs.
#include "api/descriptions.h"
#include "api/functions.h"
#include "api/python.h"
#include "api/questions.h"
#include "api/values.h"
#include "base/json.h"
#include "cli/command_line.h"
#include "export/export.h"
#include "export/pipeline.h"
#include "export/ports.h"
#include "export/tracing.h"
#include "ir/schema.h"
#include "ir/verify.h"
#include "passes/passes.h"
#include "run/diff.h"
#include "run/typed.h"

namespace rush {

namespace {

// ---- Export

// [dim, name, min, max or null, varies, leaf or null, [root, factor, checked] or null], as
// front/dynamic_shapes.py and exported_program/guards.py make it.
Constraint constraint_from(const Json &from) {
  const std::vector<Json> &row = from.list();
  const Json &max = row.at(3), &leaf = row.at(5), &multiple = row.at(6);
  Constraint out = {};
  out.dim = row.at(0).integer();
  out.name = row.at(1).text();
  out.min = row.at(2).integer();
  out.max = max.is_none() ? INT64_MAX : max.integer();
  out.varies = row.at(4).boolean();
  out.inside = !leaf.is_none();
  out.leaf = leaf.is_none() ? 0 : static_cast<size_t>(leaf.integer());
  out.root = multiple.is_none() ? "" : multiple.list().at(0).text();
  out.factor = multiple.is_none() ? 1 : multiple.list().at(1).integer();
  out.checked = multiple.is_none() || multiple.list().at(2).boolean();
  return out;
}

void take_dynamic(const Json &from, ExportOptions *options) {
  for (const Json &row : from.list()) {
    std::vector<Constraint> constraints;
    for (const Json &constraint : row.list().at(2).list())
      constraints.push_back(constraint_from(constraint));
    options->dynamic.push_back(
        {row.list().at(0).text(), row.list().at(1).text(), std::move(constraints)});
  }
}

void print(const std::string &text) {
  ask_python("print", json_text(text + "\n"));
}

ExportOptions options_from(const Json &settings) {
  ExportOptions out;
  out.path = settings["path"].text();
  for (const Json &names : settings["port_names"].list())
    out.port_names.push_back(
        {names.list().at(0).text(), names.list().at(1).texts(), names.list().at(2).texts()});
  out.verify = settings["verify"].boolean();
  out.tracer_warned = settings["tracer_warned"].boolean();
  out.test_vectors = settings["test_vectors"].boolean();
  out.allow_missing = settings["allow_missing"].boolean();
  for (const Json &asset : settings["assets"].list())
    out.assets.push_back(
        {asset.list().at(0).text(), bytes_at(asset.list().at(1), asset.list().at(2))});
  out.bits = bits_from_name(settings["quantize"].text());
  for (const Json &args : settings["calibration"].list()) {
    std::vector<Const> &batch = out.calibration.emplace_back();
    for (const Json &arg : args.list()) batch.push_back(const_of(arg));
  }
  out.dump_after = settings["dump_after"].text();
  out.dump = print;
  take_dynamic(settings["dynamic"], &out);
  for (const std::string &spec : settings["inputs"].texts())
    out.inputs.push_back(parse_input(spec));
  for (const auto &[op, description] : settings["decompositions"].fields)
    out.decompositions[op] = graph_from(description);
  ask_python_for_operators(&out);
  return out;
}

// {"description", "settings", "examples"}: see descriptions.h. Python answers "reference", "graph" and,
// if it is asked for, "trace".
std::string export_described(const Json &request) {
  const Json &settings = request["settings"];
  Program program = program_from(request["description"]);
  ExportOptions options = options_from(settings);
  options.graph = graph_in_python(program);
  if (settings["trace"].boolean()) options.tracer = tracer_in_python(&program);
  options.graph_is_reference = settings["graph_is_reference"].boolean();
  for (const Json &example : request["examples"].list())
    options.examples.push_back(example_from(example, program));
  const Unlocked unlocked;
  const Report report = export_program(program, options, reference_in_python(program));
  return "{\"fields\": " + to_json(report) + ", \"text\": " + json_text(to_string(report)) + "}";
}

// ---- Where a file and PyTorch part

std::string json_of(const Divergence &d) {
  return "{\"text\": " + json_text(to_string(d)) + ", \"agree\": " + (d.agree ? "true" : "false") +
         ", \"where\": " + json_text(d.where) + ", \"compared\": " + std::to_string(d.compared) +
         ", \"unpaired\": " + std::to_string(d.unpaired) +
         ", \"max_abs\": " + json_float(d.max_abs) + ", \"max_rel\": " + json_float(d.max_rel) +
         "}";
}

// {"path", "method", "args", "types", "rtol", "atol"}, with a type for each argument or null. Python
// answers "trace".
std::string diff_with_trace(const Json &request) {
  std::vector<Const> args;
  for (const Json &arg : request["args"].list()) {
    const Json &types = request["types"];
    args.push_back(const_of(arg));
    if (!types.is_none())
      args.back() = typed(args.back(), type_from(types.list().at(args.size() - 1)));
  }
  const std::string method = request["method"].text();
  const double rtol = request["rtol"].number(), atol = request["atol"].number();
  const Tracer tracer = tracer_in_python(nullptr);
  const Unlocked unlocked;
  const std::unique_ptr<NativeSession> session = NativeSession::open(request["path"].text());
  const bool literal = rtol >= 0 || atol >= 0;
  return json_of(diff(*session, session->method(method), args,
                      literal ? tracer(method, args, false) : trace_both(tracer, method, args),
                      rtol, atol));
}

std::string diff_file(const Json &request) {
  const Unlocked unlocked;
  return json_of(diff_test(*NativeSession::open(request["path"].text()), 0));
}

// ---- Passes as text

// {"text", "pass"}: runs the pass of that name on the text of a graph; "none" only parses it.
std::string run_pass_on_text(const Json &request) {
  const std::string name = request["pass"].text();
  Program program;
  program.methods.push_back({"forward", parse_graph(request["text"].text()), {}, {}});
  Graph &graph = *program.methods[0].graph;
  verify(graph);
  bool changed = false;
  if (name != "none") {
    const Pass &pass = find_pass(name);
    Quantized quantized;
    ExportOptions options;
    ask_python_for_operators(&options);
    changed = run_pass(pass, program, {options, {}, {}, nullptr, &quantized});
    verify(graph, {pass.removed.begin(), pass.removed.end()});
  }
  return "[" + json_text(to_string(graph)) + ", " + (changed ? "true" : "false") + "]";
}

std::string unique(const Json &names) {
  return json_texts(unique_names(names.texts()));
}

std::string op_schema(const Json &name) {
  const char *text = rush_op_schema(name.text().c_str());
  return json_text(text ? text : "");
}

std::string forget_schemas(const Json &) {
  forget_custom_schemas();
  return "null";
}

}  // namespace

Functions export_functions() {
  return {{"export", export_described},
          {"diff", diff_with_trace},
          {"diff_file", diff_file},
          {"run_pass", run_pass_on_text},
          {"unique_names", unique},
          {"op_schema", op_schema},
          {"forget_custom_schemas", forget_schemas}};
}

}  // namespace rush
