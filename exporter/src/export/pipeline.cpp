#include "export/pipeline.h"

#include <set>
#include <stdexcept>

#include "export/calibration.h"
#include "export/constraints.h"
#include "export/operators.h"
#include "ir/verify.h"
#include "passes/decompose.h"
#include "passes/passes.h"
#include "quantize/quantize.h"

namespace rush {

namespace {

// ---- Passes that need the context

template <class Each>
bool each_graph(Program &program, Each each) {
  bool changed = false;
  for (Method &m : program.methods) changed |= each(*m.graph);
  return changed;
}

// Applies the user's decompositions.
bool apply_decompositions(Program &program, const PassContext &context) {
  return each_graph(program,
                    [&](Graph &g) { return decompose(g, context.options.decompositions); });
}

// Applies our own decompositions, and the user's to operators inside of them.
bool apply_operator_programs(Program &program, const PassContext &context) {
  return each_graph(program, [&](Graph &graph) {
    Decompositions known = context.options.decompositions;
    std::set<std::string> requested;
    for (const Node *node : all_nodes(graph))
      if (!known.count(node->op) && requested.insert(node->op).second)
        if (auto made_of = context.options.operator_programs(node->op)) known[node->op] = made_of;
    return decompose(graph, known);
  });
}

bool calibrate_and_quantize(Program &program, const PassContext &context) {
  const ExportOptions &options = context.options;
  // A program that the runtime cannot run cannot be calibrated.
  if (options.bits.kind != Bits::INT8_STATIC || !missing_operators(program).empty()) return false;
  const size_t before = context.quantized->layers;
  quantize_convolutions(program, calibration_of(program, options, context.examples), context.open,
                        context.quantized);
  return context.quantized->layers > before;
}

bool apply_bits(Program &program, const PassContext &context) {
  const size_t before = context.quantized->layers;
  const ExportOptions &options = context.options;
  std::vector<Batch> batches;
  if (!options.calibration.empty() && missing_operators(program).empty())
    batches = calibration_of(program, options, context.examples);
  quantize_weights(program, options.bits, batches, context.open, context.quantized);
  return context.quantized->layers > before;
}

bool apply_constraints(Program &program, const PassContext &context) {
  return check_multiples(program, context.constraints);
}

}  // namespace

const std::vector<Pass> &pipeline() {
  static const std::vector<Pass> passes = {
      {"prepare", "decompose_custom", apply_decompositions},
      {"prepare", "canonicalize", canonicalize},
      {"prepare", "split_out", split_out},
      {"prepare", "split_in_place", split_in_place},
      {"prepare", "expand_operators", apply_operator_programs, true},

      {"lower", "canonicalize", canonicalize},
      {"lower",
       "drop_casts",
       drop_casts,
       false,
       {"prim::unchecked_cast", "prim::unchecked_unwrap_optional", "prim::Uninitialized"}},
      {"lower", "drop_identities", drop_identities, true, {"aten::detach"}},
      {"lower", "split_out", split_out},
      {"lower", "split_in_place", split_in_place},
      {"lower", "freeze_attributes", freeze_attributes},
      {"lower", "keep_written_constants", keep_written_constants},
      {"lower", "fold_containers", fold_containers, true},
      {"lower", "fold_batch_norm", fold_batch_norm, true},
      {"lower", "fuse_conv", fuse_conv, true},
      {"lower", "fuse_linear", fuse_linear, true},
      {"lower", "fuse_attention", fuse_attention, true},
      {"lower", "fuse_rotary", fuse_rotary, true},
      {"lower", "fuse_rms_norm", fuse_rms_norm, true},
      {"lower", "trim_defaults", trim_defaults},
      {"lower", "drop_dead", drop_dead, true},
      {"lower", "reroll_loops", reroll_loops, true},
      {"lower", "name_constants", name_constants},

      {"quantize", "quantize_activations", calibrate_and_quantize},
      {"quantize", "quantize_weights", apply_bits},

      // These passes make operators that quantizing cannot read.
      {"late", "fuse_scale", fuse_scale},
      {"late", "grow_cat", grow_cat},
      {"late", "check_multiples", apply_constraints},
  };
  return passes;
}

namespace {

std::string all_rows() {
  std::string out, stage;
  for (const Pass &pass : pipeline()) {
    if (stage != pass.stage)
      out += (stage.empty() ? "" : "; ") + std::string(pass.stage) + ": ";
    else
      out += ", ";
    stage = pass.stage;
    out += pass.name;
  }
  return out;
}

[[noreturn]] void refuse_name(const std::string &name) {
  throw std::invalid_argument("the name must be one of a pass or a stage (" + all_rows() +
                              "), got '" + name + "'");
}

// Returns the rows after which `name` requests the text: all rows of a pass, or the last row of a
// stage.
std::set<const Pass *> dumped_rows(const std::string &name) {
  std::set<const Pass *> out;
  const Pass *last = nullptr;
  for (const Pass &pass : pipeline()) {
    if (name == pass.name) out.insert(&pass);
    if (name == pass.stage) last = &pass;
  }
  if (last) out.insert(last);
  if (out.empty() && !name.empty()) refuse_name(name);
  return out;
}

}  // namespace

const Pass &find_pass(const std::string &name) {
  for (const Pass &pass : pipeline())
    if (pass.name == name) return pass;
  refuse_name(name);
}

bool run_pass(const Pass &pass, Program &program, const PassContext &context) {
  if (const auto *on_graph = std::get_if<0>(&pass.rewrite)) return each_graph(program, *on_graph);
  if (const auto *on_program = std::get_if<1>(&pass.rewrite)) return (*on_program)(program);
  return std::get<2>(pass.rewrite)(program, context);
}

void run_pipeline(Program &program, const PassContext &context) {
  const std::set<const Pass *> dumped = dumped_rows(context.options.dump_after);
  std::set<std::string> removed;
  for (const Method &m : program.methods) verify(*m.graph);
  for (const Pass &pass : pipeline()) {
    while (run_pass(pass, program, context) && pass.until_stable) {
    }
    removed.insert(pass.removed.begin(), pass.removed.end());
    for (const Method &m : program.methods) {
      verify(*m.graph, removed);
      if (dumped.count(&pass)) context.options.dump(m.name + ": " + to_string(*m.graph));
    }
  }
}

}  // namespace rush
