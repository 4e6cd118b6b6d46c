#include "ir/schema.h"

#include <list>
#include <map>
#include <mutex>

#include "rushlight/rushlight.h"

namespace rush {

namespace {

Schemas &source() {
  static Schemas of_torch;
  return of_torch;
}

std::optional<Schema> find(const std::string &op) {
  if (op.rfind("rush::", 0) != 0) return source().find ? source().find(op) : std::nullopt;
  const char *text = rush_op_schema(op.c_str());  // only the runtime knows our own operators
  if (!text) return std::nullopt;
  return parse_schema(text);
}

using Cache = std::map<std::string, std::optional<const Schema>>;

struct Known {
  std::mutex mutex;
  Cache schemas;
  std::list<Cache::node_type> retired;  // graphs may point to them
};
Known &known() {
  static Known all;
  return all;
}

}  // namespace

void set_schemas(Schemas of_torch) {
  source() = std::move(of_torch);
}

const Schema *schema_of(const std::string &op) {
  {
    const std::lock_guard<std::mutex> lock(known().mutex);
    if (const auto at = known().schemas.find(op); at != known().schemas.end())
      return at->second ? &*at->second : nullptr;
  }
  std::optional<Schema> found = find(op);  // may wait for Python's lock
  const std::lock_guard<std::mutex> lock(known().mutex);
  const auto at = known().schemas.emplace(op, std::move(found)).first;
  return at->second ? &*at->second : nullptr;
}

void forget_custom_schemas() {
  const std::lock_guard<std::mutex> lock(known().mutex);
  auto &schemas = known().schemas;
  for (auto at = schemas.begin(); at != schemas.end();) {
    const auto next = std::next(at);
    const std::string space = at->first.substr(0, at->first.find(':'));
    if (space != "aten" && space != "prim" && space != "rush")
      known().retired.push_back(schemas.extract(at));
    at = next;
  }
}

std::vector<std::string> overloads_of(const std::string &name) {
  return source().overloads ? source().overloads(name) : std::vector<std::string>();
}

std::string base_name(const std::string &op) {
  size_t dot = op.find('.');
  return dot == std::string::npos ? op : op.substr(0, dot);
}

std::string overload_name(const std::string &op) {
  size_t dot = op.find('.');
  return dot == std::string::npos ? "" : op.substr(dot + 1);
}

bool writes(const Schema &schema) {
  for (const Argument &arg : schema.args)
    if (arg.alias && arg.alias->write) return true;
  return false;
}

}  // namespace rush
