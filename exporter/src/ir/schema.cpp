#include "ir/schema.h"

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

}  // namespace

void set_schemas(Schemas of_torch) {
  source() = std::move(of_torch);
}

const Schema *schema_of(const std::string &op) {
  // A name never changes its meaning. find() may wait for Python's lock, so that it runs without this
  // one.
  static std::map<std::string, std::optional<const Schema>> cache;
  static std::mutex mutex;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (const auto at = cache.find(op); at != cache.end())
      return at->second ? &*at->second : nullptr;
  }
  std::optional<Schema> found = find(op);
  const std::lock_guard<std::mutex> lock(mutex);
  const auto at = cache.emplace(op, std::move(found)).first;
  return at->second ? &*at->second : nullptr;
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
