// Schemas of torch, as text (ir/schema.h).
#include "front/schemas.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>

#include "ir/schema.h"

namespace rush {

namespace {

std::optional<Schema> find(const std::string &op) {
  const std::string name = base_name(op), overload = overload_name(op);
  auto &dispatcher = c10::Dispatcher::singleton();
  if (auto handle = dispatcher.findSchema({name, overload})) {
    Schema out = parse_schema(c10::toString(handle->schema()));
    const auto &tags = handle->getTags();
    out.random =
        std::find(tags.begin(), tags.end(), at::Tag::nondeterministic_seeded) != tags.end();
    // A schema that is inferred from a C++ signature has no alias annotations.
    out.trusted = !handle->schema().isDefaultAliasAnalysisKind() &&
                  handle->schema().aliasAnalysis() != c10::AliasAnalysisKind::CONSERVATIVE;
    return out;
  }
  for (const auto &o : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name)))
    if (o->schema().overload_name() == overload) {
      Schema out = parse_schema(c10::toString(o->schema()));
      out.trusted = o->aliasAnalysisKind() != c10::AliasAnalysisKind::CONSERVATIVE;
      return out;
    }
  return std::nullopt;
}

std::vector<std::string> overloads(const std::string &name) {
  std::vector<std::string> out;
  for (const auto &o : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name))) {
    const std::string &overload = o->schema().overload_name();
    out.push_back(overload.empty() ? name : name + "." + overload);
  }
  return out;
}

}  // namespace

void use_schemas_of_torch() {
  set_schemas({find, overloads});
}

}  // namespace rush
