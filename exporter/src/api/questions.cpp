#include "api/questions.h"

#include "api/descriptions.h"
#include "api/python.h"
#include "api/values.h"
#include "base/joined.h"
#include "base/json.h"
#include "export/examples.h"
#include "ir/schema.h"
#include "run/typed.h"

namespace rush {

namespace {

// {"method": ..., "value": [...], "storages": [...]}, of copies: PyTorch may write its arguments.
std::string question(const std::string &method, const std::vector<Const> &args, bool in_double) {
  ValueWriter writer;
  const std::string values =
      joined(snapshot(args), [&](const Const &arg) { return writer.text(arg); });
  return "{\"method\": " + json_text(method) +
         ", \"in_double\": " + (in_double ? "true" : "false") +
         ", \"args\": " + writer.answer_with("[" + values + "]") + "}";
}

const TypeRef &result_type(const Program &program, const std::string &method) {
  return method_of(program, method).graph->top.results.input(0)->type;
}

Const copy_of(const Json &value) {
  return snapshot({const_of(value)})[0];
}

Const answer_to(const std::string &what, const Program &program, const std::string &method,
                const std::vector<Const> &args, bool in_double) {
  Const out;
  ask_python(what, question(method, args, in_double), [&](const Json &answer) {
    out = typed(copy_of(answer), result_type(program, method));
  });
  return out;
}

// {"nodes": [[handle, [result, ...]], ...], "result": ...}. All values are copied together, so that
// views stay views.
Trace trace_from(const Json &answer) {
  std::vector<Const> values;
  Trace out;
  for (const Json &node : answer["nodes"].list()) {
    out.nodes.push_back({static_cast<uint64_t>(node.list().at(0).integer()), {}, {}});
    for (const Json &value : node.list().at(1).list()) values.push_back(const_of(value));
    out.nodes.back().results.resize(node.list().at(1).list().size());
  }
  if (const Json *result = answer.find("result")) values.push_back(const_of(*result));
  values = snapshot(values);
  auto at = values.begin();
  for (Traced &node : out.nodes)
    for (Const &result : node.results) result = std::move(*at++);
  if (at != values.end()) out.result = std::move(*at);
  return out;
}

// [[op, [tensor or null, ...], index of the first of a list], ...].
std::vector<OperatorCall> calls_from(const Json &answer) {
  std::vector<OperatorCall> out;
  for (const Json &call : answer.list()) {
    OperatorCall created;
    created.op = call.list().at(0).text();
    for (const Json &tensor : call.list().at(1).list())
      created.tensors.push_back(tensor.is_none() ? Tensor() : copy_of(tensor).tensor);
    created.indices = static_cast<size_t>(call.list().at(2).integer());
    out.push_back(std::move(created));
  }
  return out;
}

std::vector<OperatorCall> calls_during(const std::string &method, const std::vector<Const> &args,
                                       bool in_double, const std::vector<std::string> &wanted) {
  std::vector<OperatorCall> out;
  ask_python("calls",
             "{\"run\": " + question(method, args, in_double) +
                 ", \"wanted\": " + json_texts(wanted) + "}",
             [&](const Json &answer) { out = calls_from(answer); });
  return out;
}

std::shared_ptr<const Graph> program_of_operator(const std::string &op) {
  std::shared_ptr<const Graph> out;
  ask_python("operator_program", json_text(op), [&](const Json &description) {
    if (!description.is_none()) out = graph_from(description);
  });
  return out;
}

std::optional<Schema> find_schema(const std::string &op) {
  const Json found = ask_python("schema", json_text(op));
  if (found.is_none()) return std::nullopt;
  Schema out = parse_schema(found["text"].text());
  out.trusted = found["trusted"].boolean();
  out.random = found["random"].boolean();
  return out;
}

std::vector<std::string> overloads(const std::string &name) {
  return ask_python("overloads", json_text(name)).texts();
}

}  // namespace

Reference reference_in_python(const Program &program) {
  return [&program](const std::string &method, const std::vector<Const> &args) {
    return answer_to("reference", program, method, args, false);
  };
}

GraphAnswer graph_in_python(const Program &program) {
  return [&program](const std::string &method, const std::vector<Const> &args, bool in_double) {
    return answer_to("graph", program, method, args, in_double);
  };
}

Tracer tracer_in_python(const Program *program) {
  return [program](const std::string &method, const std::vector<Const> &args, bool in_double) {
    Trace out;
    ask_python("trace", question(method, args, in_double),
               [&](const Json &answer) { out = trace_from(answer); });
    if (program && out.result)
      out.result = typed(std::move(*out.result), result_type(*program, method));
    return out;
  };
}

void ask_python_for_operators(ExportOptions *options) {
  options->calls = calls_during;
  options->operator_programs = program_of_operator;
}

void use_schemas_of_python() {
  set_schemas({find_schema, overloads});
}

}  // namespace rush
