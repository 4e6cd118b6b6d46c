#include "api/descriptions.h"

#include <stdexcept>

#include "api/graphs.h"
#include "api/values.h"
#include "export/examples.h"
#include "run/typed.h"

namespace rush {

namespace {

Port port_from(const Json &from, const TypeRef &type) {
  Port port;
  port.name = from["name"].text();
  port.type = type;
  if (const Json *initial = from.find("initial")) port.initial = typed(const_of(*initial), type);
  const Json *dtype = from.find("dtype");
  if (!dtype) return port;
  port.has_hint = port.rank_known = true;
  port.dtype = static_cast<int>(dtype->integer());
  port.sizes = from["sizes"].integers();
  return port;
}

Method method_from(const Json &from) {
  Method out;
  out.name = from["name"].text();
  graph_of(from["graph"])->finish(&out);
  size_t i = 0;
  for (const Json &port : from["inputs"].list())
    out.inputs.push_back(port_from(port, out.graph->top.params.at(i++)->type));
  out.outputs = ports_from(from["outputs"]);
  return out;
}

void take_attributes(const Json &from, Program *program) {
  const Json *attributes = from.find("attributes");
  if (!attributes) {
    std::shared_ptr<GraphBuilder> graph;
    for (const Json &method : from["methods"].list()) {
      graph = graph_of(method["graph"]);
      graph->write_back_all();
    }
    program->attributes = *graph->attributes();
    return;
  }
  for (const Json &row : attributes->list())
    program->attributes.push_back(
        {row.list().at(0).text(), type_from(row.list().at(1)), const_of(row.list().at(2))});
}

}  // namespace

Program program_from(const Json &description) {
  Program out;
  take_attributes(description, &out);
  for (const Json &method : description["methods"].list())
    out.methods.push_back(method_from(method));
  for (const Json &row : description["texts"].list())
    out.texts.push_back({row.list().at(0).text(),
                         static_cast<rush_text_kind>(row.list().at(1).integer()),
                         row.list().at(2).text()});
  for (const Json &row : description["meta"].list())
    out.meta.emplace_back(row.list().at(0).text(), row.list().at(1).text());
  return out;
}

std::vector<Port> ports_from(const Json &ports) {
  std::vector<Port> out;
  for (const Json &port : ports.list()) out.push_back(port_from(port, type_from(port["type"])));
  return out;
}

std::shared_ptr<const Graph> graph_from(const Json &description) {
  return method_from(description["methods"].list().at(0)).graph;
}

Example example_from(const Json &from, const Program &program) {
  Example out;
  out.method = from["method"].text();
  const Method &method = method_of(program, out.method);
  for (const Json &arg : from["args"].list()) {
    const size_t i = out.args.size();
    if (i == method.inputs.size())
      throw std::invalid_argument("an example for " + out.method + " must have at most " +
                                  std::to_string(i) + " inputs, got " +
                                  std::to_string(from["args"].list().size()));
    out.args.push_back(typed(const_of(arg), method.inputs[i].type));
  }
  out.args = snapshot(out.args);
  if (const Json *expected = from.find("expected"))
    out.expected =
        snapshot({typed(const_of(*expected), method.graph->top.results.input(0)->type)})[0];
  out.given = out.expected.has_value();
  out.rtol = from["rtol"].number();
  out.atol = from["atol"].number();
  out.store = from["store"].boolean();
  out.only_compared = from["only_compared"].boolean();
  return out;
}

}  // namespace rush
