#include "export/constraints.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <tuple>

#include "base/joined.h"
#include "export/ports.h"

namespace rush {

namespace {

size_t input_of(const Method &m, const std::string &name) {
  for (size_t i = 0; i < m.inputs.size(); i++)
    if (m.inputs[i].name == name) return i;
  const std::string known = joined(m.inputs, [](const Port &port) { return port.name; });
  throw std::invalid_argument("dynamic_shapes: there is no input '" + name +
                              "'; the model's inputs are " + (known.empty() ? "none" : known));
}

// Returns the tensor of a constraint, or undefined if the arguments do not have it.
Tensor tensor_of(const std::vector<Const> &args, const Constraint &p) {
  Tensor out;
  size_t at = 0;
  if (p.input < args.size() && args[p.input].tensor.defined() != p.inside)
    each_tensor_inside(args[p.input], [&](const Tensor &t) {
      if (at++ == p.leaf) out = t;
    });
  return out;
}

// Returns the rank in the first example, or -1 if there is none.
int64_t rank_of(const Method &m, const Constraint &p, const std::vector<Example> &examples) {
  for (const Example &e : examples) {
    if (e.store || e.method != m.name) continue;
    const Tensor t = tensor_of(e.args, p);
    return t.defined() ? t.dim() : 0;
  }
  return -1;
}

// Renames a size, and all sizes that are equal to it.
void rename(std::vector<Constraint> *all, Constraint *constraint, const std::string &name) {
  const std::string before = constraint->name;
  constraint->name = name;
  for (Constraint &p : *all)
    if (p.method == constraint->method && !before.empty() && p.name == before) p.name = name;
}

std::tuple<size_t, size_t, size_t, int64_t> place_of(const Constraint &p) {
  return {p.method, p.input, p.leaf, p.dim};
}

void add(std::vector<Constraint> *all, const Constraint &more, const std::string &input) {
  const auto at = std::find_if(all->begin(), all->end(),
                               [&](const Constraint &p) { return place_of(p) >= place_of(more); });
  if (at == all->end() || place_of(*at) != place_of(more)) {
    all->insert(at, more);
    return;
  }
  at->min = std::max(at->min, more.min);
  at->max = std::min(at->max, more.max);
  if (at->min > at->max)
    throw std::invalid_argument("dynamic_shapes: the range of size " + std::to_string(more.dim) +
                                " of '" + input + "' must not be empty, got " +
                                std::to_string(at->min) + " to " + std::to_string(at->max));
  if (!more.name.empty()) rename(all, &*at, more.name);
  if (more.factor == 1) return;
  at->root = more.root;
  at->factor = more.factor;
  at->checked = more.checked;
}

}  // namespace

std::vector<Constraint> constraints_of(const Program &program, const ExportOptions &options,
                                       const std::vector<Example> &examples) {
  std::vector<Constraint> out;
  for (const auto &[method, name, constraints] : options.dynamic) {
    const size_t at = index_of(program, method);
    const Method &m = program.methods[at];
    const size_t input = input_of(m, name);
    for (Constraint p : constraints) {
      p.method = at;
      p.input = input;
      const int64_t rank = rank_of(m, p, examples);
      if (p.dim < -std::max<int64_t>(rank, 0) ||
          p.dim >= (rank < 0 ? int64_t{RUSH_MAX_RANK} : rank))
        throw std::invalid_argument("dynamic_shapes: '" + name + "' has no dimension " +
                                    std::to_string(p.dim));
      if (p.dim < 0) p.dim += rank;
      add(&out, p, name);
    }
  }
  return out;
}

namespace {

Value *call(Node *where, const char *op, const std::vector<Value *> &inputs, rush_type_kind type) {
  return insert_call(where, op, inputs, make_type(type));
}

// Inserts a check before `where` that raises for a size that is not a multiple.
void refuse_others(Graph &graph, Node *where, const Constraint &p, const std::string &input) {
  Value *size =
      call(where, "aten::size.int",
           {graph.top.params.at(p.input), graph.constant(const_int(p.dim))}, RUSH_TYPE_INT);
  Value *rest = call(where, "aten::remainder.int", {size, graph.constant(const_int(p.factor))},
                     RUSH_TYPE_INT);
  Value *ok = call(where, "aten::eq.int", {rest, graph.constant(const_int(0))}, RUSH_TYPE_BOOL);
  Node *branch = graph.insert_before(where, "prim::If");
  branch->add_input(ok);
  branch->add_block();
  Block *otherwise = branch->add_block();
  Node *format = otherwise->append("aten::format");
  const std::string message = "size " + std::to_string(p.dim) + " of input \"" + input +
                              "\" must be a multiple of " + std::to_string(p.factor) + ", got {}";
  format->add_input(graph.constant(const_str(message)));
  format->add_input(size);
  Node *raise = otherwise->append("prim::RaiseException");
  raise->add_input(format->add_output(make_type(RUSH_TYPE_STR)));
  raise->add_input(graph.constant(const_none()));
}

}  // namespace

bool check_multiples(Program &program, const std::vector<Constraint> &constraints) {
  bool changed = false;
  std::vector<Node *> firsts;  // of each method before the change
  for (const Method &m : program.methods)
    firsts.push_back(m.graph->top.nodes.empty() ? nullptr : m.graph->top.nodes.front().get());
  for (const Constraint &p : constraints) {
    Node *first = firsts[p.method];
    if (!first || p.checked || p.inside) continue;
    const Method &m = program.methods[p.method];
    refuse_others(*m.graph, first, p, m.inputs[p.input].name);
    changed = true;
  }
  return changed;
}

namespace {

// A size that may vary. Sizes of one name and their multiples form a group, and change together. A
// size without a name is a group.
struct Varying {
  const Constraint *constraint;
  int64_t size;  // for a multiple, the size that it is a multiple of
  size_t group;
};

// The constraints on all sizes of a group.
struct Group {
  std::string name;
  int64_t min = 1, max = INT64_MAX;
  bool stays = false;
};

struct Varyings {
  std::vector<Varying> sizes;
  std::vector<Group> groups;

  size_t group_of(const std::string &name) {
    size_t at = 0;
    while (at < groups.size() && (name.empty() || groups[at].name != name)) at++;
    if (at == groups.size()) groups.push_back({name});
    return at;
  }
};

Varyings varying_sizes(const std::vector<Constraint> &constraints, size_t method,
                       const std::vector<Const> &args) {
  Varyings out;
  for (const Constraint &p : constraints) {
    const Tensor t = tensor_of(args, p);
    if (p.method != method || !t.defined() || p.dim >= t.dim()) continue;
    const size_t group = out.group_of(p.factor == 1 ? p.name : p.root);
    Group &g = out.groups[group];
    g.stays |= !p.varies || t.size(p.dim) % p.factor != 0;
    g.min = std::max(g.min, (p.min + p.factor - 1) / p.factor);
    g.max = std::min(g.max, p.max / p.factor);
    out.sizes.push_back({&p, t.size(p.dim) / p.factor, group});
  }
  return out;
}

// Chooses another size for one of an example and its group.
using Step = std::function<int64_t(int64_t size, const Group &group, size_t at)>;

int64_t at_most_max(int64_t to, const Group &group) {
  return std::min(to, group.max);
}

// Never chooses 0, which many programs refuse.
int64_t within_bounds(int64_t to, const Group &group) {
  return at_most_max(std::max(to, group.min), group);
}

// Each step of a decoder has size 1, for which programs take other branches. So each group alone is
// 1, too, while the others keep their sizes. The number of groups is limited, as the caches of many
// layers may be groups.
constexpr size_t kMostAlone = 8;

std::vector<Step> steps(size_t groups) {
  std::vector<Step> out = {
      [](int64_t n, const Group &g, size_t) { return std::max(n, at_most_max(n + 1, g)); },
      [](int64_t n, const Group &g, size_t) {
        return std::max(n, at_most_max(std::max(2 * n, n + 1), g));
      },
      [](int64_t n, const Group &g, size_t) { return std::max(n, at_most_max(n + 1 + n % 2, g)); },
      [](int64_t, const Group &g, size_t) { return within_bounds(1, g); },
      [](int64_t, const Group &g, size_t) { return within_bounds(2, g); }};
  for (size_t alone = 0; groups > 1 && groups <= kMostAlone && alone < groups; alone++)
    out.push_back([alone](int64_t n, const Group &g, size_t at) {
      return at == alone ? within_bounds(1, g) : n;
    });
  return out;
}

}  // namespace

std::vector<Trial> trial_inputs(const std::vector<Constraint> &constraints, size_t method,
                                const std::vector<Const> &args) {
  const Varyings varying = varying_sizes(constraints, method, args);
  std::vector<Trial> out;
  for (const Step &step : steps(varying.groups.size())) {
    Trial trial = {std::vector<NewSizes>(args.size()), false};
    for (const Varying &v : varying.sizes) {
      const Group &g = varying.groups[v.group];
      const int64_t to = g.stays ? v.size : step(v.size, g, v.group);
      if (to == v.size) continue;
      trial.sizes[v.constraint->input].push_back(
          {v.constraint->leaf, v.constraint->dim, to * v.constraint->factor});
      trial.smaller |= to < v.size;
    }
    const bool none = trial.sizes == std::vector<NewSizes>(args.size());
    const bool known =
        std::any_of(out.begin(), out.end(), [&](const Trial &t) { return t.sizes == trial.sizes; });
    if (!none && !known) out.push_back(std::move(trial));
  }
  return out;
}

}  // namespace rush
