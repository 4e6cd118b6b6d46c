#include "ir/schema.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <map>
#include <memory>

#include "ir/from_c10.h"
#include "rushlight/rushlight.h"

namespace rush {

namespace {

std::optional<AliasSet> convert(const c10::AliasInfo *info) {
  if (!info) return std::nullopt;
  AliasSet out;
  out.write = info->isWrite();
  out.wildcard = info->isWildcardAfter();
  auto names = [](const std::unordered_set<c10::Symbol> &set) {
    std::vector<std::string> v;
    for (const c10::Symbol &s : set) v.emplace_back(s.toUnqualString());
    std::sort(v.begin(), v.end());
    return v;
  };
  out.before = names(info->beforeSets());
  out.after = names(info->afterSets());
  // List(Tensor(a)): the list may give out its items.
  for (const c10::AliasInfo &inner : info->containedTypes()) {
    std::optional<AliasSet> more = convert(&inner);
    if (!more) continue;
    out.write |= more->write;
    out.wildcard |= more->wildcard;
    out.before.insert(out.before.end(), more->before.begin(), more->before.end());
    out.after.insert(out.after.end(), more->after.begin(), more->after.end());
  }
  return out;
}

Argument convert(const c10::Argument &arg) {
  Argument out;
  out.name = arg.name();
  out.type = from_c10(arg.type());
  if (arg.default_value()) out.initial = from_ivalue(*arg.default_value());
  out.alias = convert(arg.alias_info());
  if (arg.N()) out.repeat = *arg.N();
  out.keyword_only = arg.kwarg_only();
  out.out = arg.is_out();
  return out;
}

std::unique_ptr<Schema> convert(const c10::FunctionSchema &from) {
  auto out = std::make_unique<Schema>();
  out->name = from.name();
  out->text = c10::toString(from);
  for (const c10::Argument &arg : from.arguments()) out->args.push_back(convert(arg));
  for (const c10::Argument &arg : from.returns()) out->returns.push_back(convert(arg));
  out->variadic = from.is_vararg() || from.is_varret();
  return out;
}

// Only the runtime knows our own operators.
std::unique_ptr<Schema> own(const std::string &op) {
  const char *text = rush_op_schema(op.c_str());
  if (!text) return nullptr;
  auto out = convert(torch::jit::parseSchema(text));
  out->text = text;
  return out;
}

std::unique_ptr<Schema> find(const std::string &op) {
  if (op.rfind("rush::", 0) == 0) return own(op);
  const std::string name = base_name(op), overload = overload_name(op);
  auto &dispatcher = c10::Dispatcher::singleton();
  if (auto handle = dispatcher.findSchema({name, overload})) {
    auto out = convert(handle->schema());
    const auto &tags = handle->getTags();
    out->random =
        std::find(tags.begin(), tags.end(), at::Tag::nondeterministic_seeded) != tags.end();
    // A schema that is inferred from a C++ signature has no alias annotations.
    out->trusted = !handle->schema().isDefaultAliasAnalysisKind() &&
                   handle->schema().aliasAnalysis() != c10::AliasAnalysisKind::CONSERVATIVE;
    return out;
  }
  for (const auto &o : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name)))
    if (o->schema().overload_name() == overload) {
      auto out = convert(o->schema());
      out->trusted = o->aliasAnalysisKind() != c10::AliasAnalysisKind::CONSERVATIVE;
      return out;
    }
  return nullptr;
}

}  // namespace

const Schema *schema_of(const std::string &op) {
  static std::map<std::string, std::unique_ptr<Schema>> cache;  // a name never changes its meaning
  auto at = cache.find(op);
  if (at == cache.end()) at = cache.emplace(op, find(op)).first;
  return at->second.get();
}

std::vector<std::string> overloads_of(const std::string &name) {
  std::vector<std::string> out;
  for (const auto &o : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name))) {
    const std::string &overload = o->schema().overload_name();
    out.push_back(overload.empty() ? name : name + "." + overload);
  }
  return out;
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
