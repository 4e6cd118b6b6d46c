#include "promises.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <tuple>

namespace rush {

namespace {

size_t input_of(const Method &m, const std::string &name) {
  for (size_t i = 0; i < m.inputs.size(); i++)
    if (m.inputs[i].name == name) return i;
  throw std::invalid_argument("dynamic_shapes: there is no input '" + name + "'");
}

// Of an input, as the first example has it; -1 where there is none.
int64_t rank_of(const Method &m, size_t input, const std::vector<Example> &examples) {
  for (const Example &e : examples) {
    if (e.store || e.method != m.name) continue;
    return input < e.args.size() && e.args[input].tensor.defined() ? e.args[input].tensor.dim() : 0;
  }
  return -1;
}

// Gives a size, and all that are equal to it, another name.
void rename(std::vector<Promise> *all, Promise *promise, const std::string &name) {
  const std::string before = promise->name;
  promise->name = name;
  for (Promise &p : *all)
    if (!before.empty() && p.name == before) p.name = name;
}

void add(std::vector<Promise> *all, const Promise &more, const std::string &input) {
  const auto at = std::find_if(all->begin(), all->end(), [&](const Promise &p) {
    return std::tie(p.input, p.dim) >= std::tie(more.input, more.dim);
  });
  if (at == all->end() || at->input != more.input || at->dim != more.dim) {
    all->insert(at, more);
    return;
  }
  at->least = std::max(at->least, more.least);
  at->most = std::min(at->most, more.most);
  if (at->least > at->most)
    throw std::invalid_argument("dynamic_shapes: size " + std::to_string(more.dim) + " of '" +
                                input + "' would be at least " + std::to_string(at->least) +
                                " and at most " + std::to_string(at->most));
  if (!more.name.empty()) rename(all, &*at, more.name);
}

}  // namespace

std::vector<Promise> promises_of(const Program &program, const ExportOptions &options,
                                 const std::vector<Example> &examples) {
  const Method &m = program.methods[0];
  std::vector<Promise> out;
  for (const auto &[name, promises] : options.dynamic) {
    const size_t input = input_of(m, name);
    const int64_t rank = rank_of(m, input, examples);
    for (Promise p : promises) {
      if (p.dim < -std::max<int64_t>(rank, 0) ||
          p.dim >= (rank < 0 ? int64_t{RUSH_MAX_RANK} : rank))
        throw std::invalid_argument("dynamic_shapes: '" + name + "' has no dimension " +
                                    std::to_string(p.dim));
      if (p.dim < 0) p.dim += rank;
      p.input = input;
      add(&out, p, name);
    }
  }
  return out;
}

std::vector<std::vector<int64_t>> growing(const std::vector<Promise> &promises,
                                          const std::vector<Const> &args) {
  const auto is_given = [&](const Promise &p) {
    return p.input < args.size() && args[p.input].tensor.defined() &&
           p.dim < args[p.input].tensor.dim();
  };
  const auto stays = [&](const Promise &p) {
    return !p.varies || args[p.input].tensor.size(p.dim) >= p.most;
  };
  std::set<std::string> fixed;  // names of sizes that stay
  for (const Promise &p : promises)
    if (is_given(p) && stays(p) && !p.name.empty()) fixed.insert(p.name);
  std::vector<std::vector<int64_t>> out;
  for (const Promise &p : promises) {
    if (!is_given(p) || stays(p) || fixed.count(p.name)) continue;
    out.resize(args.size());
    out[p.input].push_back(p.dim);
  }
  return out;
}

}  // namespace rush
