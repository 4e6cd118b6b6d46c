#include "passes/pipeline.h"

#include <set>
#include <stdexcept>

#include "ir/verify.h"
#include "passes/passes.h"

namespace rush {

const std::vector<Pass> &pipeline() {
  static const std::vector<Pass> passes = {
      {"plain_operators", plain_operators, nullptr, false, {}},
      {"drop_casts",
       drop_casts,
       nullptr,
       false,
       {"prim::unchecked_cast", "prim::unchecked_unwrap_optional", "prim::Uninitialized"}},
      {"drop_identities", drop_identities, nullptr, true, {"aten::detach"}},
      {"split_out", split_out, nullptr, false, {}},
      {"split_in_place", split_in_place, nullptr, false, {}},
      {"settle_attributes", nullptr, settle_attributes, false, {}},
      {"keep_written_constants", nullptr, keep_written_constants, false, {}},
      {"fold_containers", fold_containers, nullptr, true, {}},
      {"fold_batch_norm", fold_batch_norm, nullptr, true, {}},
      {"fuse_conv", fuse_conv, nullptr, true, {}},
      {"fuse_linear", fuse_linear, nullptr, true, {}},
      {"trim_defaults", trim_defaults, nullptr, false, {}},
      {"drop_dead", drop_dead, nullptr, true, {}},
      {"fold_rounds", fold_rounds, nullptr, true, {}},
      {"name_constants", nullptr, name_constants, false, {}},
  };
  return passes;
}

const std::vector<Pass> &late_pipeline() {
  static const std::vector<Pass> passes = {{"fuse_scale", fuse_scale, nullptr, false, {}},
                                           {"grow_cat", grow_cat, nullptr, false, {}}};
  return passes;
}

const Pass *find_pass(const std::string &name) {
  for (const auto *passes : {&pipeline(), &late_pipeline()})
    for (const Pass &pass : *passes)
      if (pass.name == name) return &pass;
  return nullptr;
}

namespace {

bool run_once(const Pass &pass, Program &program) {
  if (pass.on_program) return pass.on_program(program);
  bool changed = false;
  for (Method &m : program.methods) changed |= pass.on_graph(*m.graph);
  return changed;
}

}  // namespace

void run_pipeline(const std::vector<Pass> &passes, Program &program, const std::string &dump_after,
                  const std::function<void(const std::string &)> &dump) {
  if (!dump_after.empty() && !find_pass(dump_after)) {
    std::string known;
    for (const auto *all : {&pipeline(), &late_pipeline()})
      for (const Pass &pass : *all) known += (known.empty() ? "" : ", ") + std::string(pass.name);
    throw std::invalid_argument("there is no pass '" + dump_after + "'; the passes are " + known);
  }
  std::set<std::string> gone;
  for (const Method &m : program.methods) verify(*m.graph);
  for (const Pass &pass : passes) {
    while (run_once(pass, program) && pass.repeat_until_stable) {
    }
    gone.insert(pass.gone.begin(), pass.gone.end());
    for (const Method &m : program.methods) {
      verify(*m.graph, gone);
      if (dump_after == pass.name) dump(m.name + ": " + to_string(*m.graph));
    }
  }
}

}  // namespace rush
