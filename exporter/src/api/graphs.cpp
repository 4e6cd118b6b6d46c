#include "api/graphs.h"

#include "api/functions.h"
#include "api/handle_table.h"
#include "api/values.h"
#include "base/joined.h"
#include "base/json.h"

namespace rush {

namespace {

HandleTable<GraphBuilder> &graphs() {
  static HandleTable<GraphBuilder> all;
  return all;
}

const Json &item(const Json &command, size_t i) {
  return command.list().at(i);
}

size_t number(const Json &command, size_t i) {
  return static_cast<size_t>(item(command, i).integer());
}

const std::string &text(const Json &command, size_t i) {
  return item(command, i).text();
}

// [..., file, line, function, module, handle], or nothing.
Source source_from(const Json &command) {
  Source out;
  if (command.list().size() == 1) return out;
  out.file = text(command, 1);
  out.line = static_cast<uint32_t>(item(command, 2).integer());
  out.function = text(command, 3);
  out.module = text(command, 4);
  out.handle = static_cast<uint64_t>(item(command, 5).integer());
  return out;
}

using Results = std::vector<size_t>;
// A command is a list: its name, and the arguments of GraphBuilder's function. It gives the numbers of
// new values.
using Command = Results (*)(GraphBuilder &graph, const Json &command);

const std::map<std::string, Command> kCommands = {
    {"input",
     [](GraphBuilder &graph, const Json &of) -> Results {
       return {graph.input(type_from(item(of, 1)), text(of, 2))};
     }},
    {"constant",
     [](GraphBuilder &graph, const Json &of) -> Results { return {graph.constant(item(of, 1))}; }},
    {"typed_constant",
     [](GraphBuilder &graph, const Json &of) -> Results {
       const Json &type = item(of, 2);
       return {graph.typed_constant(item(of, 1), type.is_none() ? nullptr : type_from(type))};
     }},
    {"attribute",
     [](GraphBuilder &graph, const Json &of) -> Results {
       return {graph.attribute(text(of, 1), item(of, 2))};
     }},
    {"known_attribute",
     [](GraphBuilder &graph, const Json &of) -> Results {
       return {graph.known_attribute(text(of, 1))};
     }},
    {"source",
     [](GraphBuilder &graph, const Json &of) {
       graph.set_source(source_from(of));
       return Results();
     }},
    {"node",
     [](GraphBuilder &graph, const Json &of) {
       return graph.node(text(of, 1), item(of, 2), item(of, 3), item(of, 4));
     }},
    {"begin",
     [](GraphBuilder &graph, const Json &of) {
       graph.begin(text(of, 1), item(of, 2));
       return Results();
     }},
    {"block",
     [](GraphBuilder &graph, const Json &of) { return graph.block(item(of, 1), item(of, 2)); }},
    {"leave",
     [](GraphBuilder &graph, const Json &of) {
       graph.leave(item(of, 1));
       return Results();
     }},
    {"end",
     [](GraphBuilder &graph, const Json &of) { return graph.end(item(of, 1), item(of, 2)); }},
    {"mark",
     [](GraphBuilder &graph, const Json &of) {
       Results results;
       for (const Json &result : item(of, 1).list())
         results.push_back(static_cast<size_t>(result.integer()));
       graph.mark(results, static_cast<uint64_t>(item(of, 2).integer()));
       return Results();
     }},
    {"set_result",
     [](GraphBuilder &graph, const Json &of) {
       graph.set_result(number(of, 1));
       return Results();
     }},
    {"write_back",
     [](GraphBuilder &graph, const Json &of) {
       graph.write_back(number(of, 1), number(of, 2));
       return Results();
     }},
};

// {"first"}: a graph whose attributes the new one shares, or null.
std::string open(const Json &request) {
  const Json &first = request["first"];
  auto attributes =
      first.is_none() ? std::make_shared<std::vector<Attribute>>() : graph_of(first)->attributes();
  return std::to_string(graphs().add(std::make_shared<GraphBuilder>(std::move(attributes))));
}

std::string close(const Json &graph) {
  graphs().remove(graph.integer());
  return "null";
}

// {"graph", "commands"}. Returns the numbers of the last command's values.
std::string build(const Json &request) {
  const std::shared_ptr<GraphBuilder> graph = graph_of(request["graph"]);
  Results last;
  for (const Json &command : request["commands"].list())
    last = kCommands.at(text(command, 0))(*graph, command);
  return "[" + joined(last, [](size_t value) { return std::to_string(value); }) + "]";
}

// {"graph", "value"}
std::string type(const Json &request) {
  const auto value = static_cast<size_t>(request["value"].integer());
  return json_of(*graph_of(request["graph"])->type_of(value));
}

std::string parsed_type(const Json &text) {
  return json_of(*parse_type(text.text()));
}

}  // namespace

std::shared_ptr<GraphBuilder> graph_of(const Json &number) {
  return graphs().get(number.integer());
}

Functions graph_functions() {
  return {{"graph.open", open},
          {"graph.close", close},
          {"graph.build", build},
          {"graph.type", type},
          {"parse_type", parsed_type}};
}

}  // namespace rush
