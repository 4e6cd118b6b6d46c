#include "export/measure.h"

#include <algorithm>

#include "export/synthetic_inputs.h"
#include "ir/schema.h"
#include "run/compare.h"

namespace rush {

namespace {

// The number of inputs on which PyTorch's distances are measured.
constexpr int kSeveral = 6;

constexpr uint64_t kSeed = 400;

bool is_or_holds_tensor(const Type &type) {
  return type.kind == RUSH_TYPE_TENSOR ||
         std::any_of(type.items.begin(), type.items.end(),
                     [](const TypeRef &item) { return is_or_holds_tensor(*item); });
}

bool may_be_float(const Type &type) {
  return type.kind == RUSH_TYPE_FLOAT || type.kind == RUSH_TYPE_NUMBER ||
         type.kind == RUSH_TYPE_COMPLEX || type.kind == RUSH_TYPE_ANY ||
         std::any_of(type.items.begin(), type.items.end(),
                     [](const TypeRef &item) { return may_be_float(*item); });
}

// item(), tolist(), float(t), ...
bool takes_numbers(const Node &node) {
  const bool from = std::any_of(node.inputs.begin(), node.inputs.end(),
                                [](const Value *v) { return is_or_holds_tensor(*v->type); });
  return from && node.blocks.empty() &&
         std::any_of(node.outputs.begin(), node.outputs.end(), [](const Value *v) {
           return !is_or_holds_tensor(*v->type) && may_be_float(*v->type);
         });
}

// The dtypes of all constants and attributes of a program.
struct Dtypes {
  bool single = false, wide = false;
  void add(const Const &value) {
    each_tensor(value, [&](const Const &c) { add(c.tensor.dtype()); });
    if (value.kind == RUSH_CONST_RANDOM) add(value.tensor.dtype());
  }
  void add(rush_dtype dtype) {
    const rush_dtype part = real_dtype(dtype);
    wide |= part == RUSH_FLOAT64;
    single |= part != RUSH_FLOAT64 && is_floating_point(part);
  }
};

bool reads_floats_from_float32(const Program &program, const ExportOptions &options) {
  Dtypes dtypes;
  bool takes = false;
  for (const Method &m : program.methods)
    for (const Node *node : all_nodes(*m.graph)) {
      takes |= takes_numbers(*node);
      for (const Value *v : node->inputs)
        if (v->is_constant()) dtypes.add(*v->constant);
    }
  for (const Attribute &a : program.attributes) dtypes.add(a.initial);
  for (const Example &e : options.examples)
    for (const Const &arg : e.args) dtypes.add(arg);
  return takes && (dtypes.single || !dtypes.wide);
}

// Returns whether a node draws random numbers. Dropout, attention and recurrent layers draw none at evaluation.
bool draws(const Node &node) {
  const Schema *schema = schema_of(node.op);
  if (!schema || !schema->random) return false;
  for (size_t i = 0; i < schema->args.size(); i++) {
    const std::string &name = schema->args[i].name;
    if (name != "dropout_p" && name != "dropout" && name != "train" && name != "training") continue;
    if (i >= node.inputs.size()) return false;  // omitted: 0 or False
    const Value *given = node.inputs[i];
    if (given->is_constant() && given->constant->is_number() && given->constant->number() == 0)
      return false;
  }
  return true;
}

std::string random_operator(const Program &program) {
  for (const Method &m : program.methods)
    for (const Node *node : all_nodes(*m.graph))
      if (draws(*node)) return node->op;
  return "";
}

std::string first_line(const std::string &text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

Measurer::Measurer(const Program &program, const ExportOptions &options)
    : options_(options),
      floats_from_float32_(reads_floats_from_float32(program, options)),
      draws_(random_operator(program)) {}

Measured Measurer::operator()(const Example &example) const {
  Measured out;
  std::optional<Const> exact;
  try {
    if (!options_.graph) throw std::invalid_argument("PyTorch has no graph of this model");
    if (!draws_.empty())
      throw std::invalid_argument("it draws random numbers, which differ in float64");
    exact = options_.graph(example.method, example.args, true);
    if (!options_.graph_is_reference || example.given)
      if (const std::string differs = difference(example, &*exact); !differs.empty())
        throw std::invalid_argument("PyTorch's graph differs from the model: " + differs);
  } catch (const std::exception &e) {
    exact.reset();
    out.why_not = first_line(e.what());
  }
  out.list = measures_of(*example.expected, exact ? &*exact : nullptr, floats_from_float32_,
                         &out.unstable);
  return out;
}

// `exact` is the answer of the graph in float64; nullptr if it is not known.
std::string Measurer::difference(const Example &example, const Const *exact) const {
  const Const own = options_.graph(example.method, example.args, false);
  bool unstable = false;
  const auto measures = measures_of(own, exact, floats_from_float32_, &unstable);
  return compare(*example.expected, own, 0, 0, "what it gives", &measures).where;
}

std::string Measurer::graph_differs(const Example &example) const {
  std::optional<Const> exact;
  try {
    if (draws_.empty()) exact = options_.graph(example.method, example.args, true);
  } catch (const std::exception &) {
    // It has no float64 form: the norm decides.
  }
  try {
    return difference(example, exact ? &*exact : nullptr);
  } catch (const std::exception &e) {
    return first_line(e.what());
  }
}

std::vector<rush_distance> Measurer::distances_over_inputs(const Example &example) const {
  std::vector<rush_distance> out;
  if (!options_.graph || !draws_.empty()) return out;
  const size_t n = measured_values(*example.expected).size();
  uint64_t seed = kSeed;
  for (int i = 0; i < kSeveral; i++) {
    std::vector<rush_distance> found;
    try {
      const std::vector<Const> args = arguments_like(example, &seed);
      found = distances_of(options_.graph(example.method, args, false),
                           options_.graph(example.method, args, true));
    } catch (const std::exception &) {
      continue;  // PyTorch refuses these synthetic inputs
    }
    if (found.size() != n) continue;
    out.resize(n, {0, 0});
    for (size_t k = 0; k < n; k++) {
      out[k].max = std::max(out[k].max, found[k].max);
      out[k].l2 = std::max(out[k].l2, found[k].l2);
    }
  }
  return out;
}

}  // namespace rush
