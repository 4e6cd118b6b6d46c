// Schemas, as the passes read them.
#include "ir/schema.h"

#include "api/functions.h"
#include "base/joined.h"
#include "base/json.h"

namespace rush {

namespace {

std::string json_of(const AliasSet &alias) {
  return std::string("{\"write\": ") + (alias.write ? "true" : "false") +
         ", \"wildcard\": " + (alias.wildcard ? "true" : "false") +
         ", \"before\": " + json_texts(alias.before) + ", \"after\": " + json_texts(alias.after) +
         "}";
}

std::string json_of(const Argument &arg) {
  std::string out =
      "{\"name\": " + json_text(arg.name) + ", \"type\": " + json_text(to_string(*arg.type));
  if (arg.initial) out += ", \"initial\": " + json_text(to_string(*arg.initial));
  if (arg.alias) out += ", \"alias\": " + json_of(*arg.alias);
  if (arg.repeat) out += ", \"repeat\": " + std::to_string(*arg.repeat);
  return out + ", \"keyword_only\": " + (arg.keyword_only ? "true" : "false") +
         ", \"out\": " + (arg.out ? "true" : "false") + "}";
}

std::string parse(const Json &request) {
  const Schema schema = parse_schema(request["text"].text());
  const auto list = [](const std::vector<Argument> &arguments) {
    return "[" + joined(arguments, [](const Argument &arg) { return json_of(arg); }) + "]";
  };
  return "{\"name\": " + json_text(schema.name) + ", \"arguments\": " + list(schema.args) +
         ", \"returns\": " + list(schema.returns) +
         ", \"variadic\": " + (schema.variadic ? "true" : "false") + "}";
}

}  // namespace

Functions schema_functions() {
  return {{"parse_schema", parse}};
}

}  // namespace rush
