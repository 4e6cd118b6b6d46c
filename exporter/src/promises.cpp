#include "promises.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

namespace rush {

namespace {

size_t input_of(const Method &m, const std::string &name) {
  for (size_t i = 0; i < m.inputs.size(); i++)
    if (m.inputs[i].name == name) return i;
  std::string known;
  for (const Port &port : m.inputs) known += (known.empty() ? "" : ", ") + port.name;
  throw std::invalid_argument("dynamic_shapes: there is no input '" + name +
                              "'; the model's inputs are " + (known.empty() ? "none" : known));
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

namespace {

// The sizes of one name, which grow alike: the one that they have, and the most that they may be.
struct Growing {
  const Promise *promise;
  int64_t size, most;
};

enum class Step { kByOne, kDoubled, kOdd };

int64_t grown(const Growing &g, Step step) {
  const int64_t n = g.size;
  const int64_t to = step == Step::kByOne     ? n + 1
                     : step == Step::kDoubled ? std::max<int64_t>(2 * n, n + 1)
                                              : n + 1 + n % 2;
  return std::min(to, g.most);
}

std::vector<Growing> growing_sizes(const std::vector<Promise> &promises,
                                   const std::vector<Const> &args) {
  const auto is_given = [&](const Promise &p) {
    return p.input < args.size() && args[p.input].tensor.defined() &&
           p.dim < args[p.input].tensor.dim();
  };
  std::map<std::string, int64_t> most;  // by name; 0 where a size of it stays
  std::vector<Growing> out;
  for (const Promise &p : promises) {
    if (!is_given(p)) continue;
    const int64_t size = args[p.input].tensor.size(p.dim);
    const bool stays = !p.varies || size >= p.most;
    if (!p.name.empty()) {
      int64_t &least = most.try_emplace(p.name, p.most).first->second;
      least = stays ? 0 : std::min(least, p.most);
    }
    if (!stays) out.push_back({&p, size, p.most});
  }
  for (Growing &g : out)
    if (!g.promise->name.empty()) g.most = most[g.promise->name];
  out.erase(std::remove_if(out.begin(), out.end(), [](const Growing &g) { return g.most == 0; }),
            out.end());
  return out;
}

}  // namespace

std::vector<std::vector<Grown>> growing(const std::vector<Promise> &promises,
                                        const std::vector<Const> &args) {
  const std::vector<Growing> sizes = growing_sizes(promises, args);
  std::vector<std::vector<Grown>> out;
  for (const Step step : {Step::kByOne, Step::kDoubled, Step::kOdd}) {
    std::vector<Grown> tried(args.size());
    for (const Growing &g : sizes)
      tried[g.promise->input].emplace_back(static_cast<int64_t>(g.promise->dim), grown(g, step));
    if (!sizes.empty() && std::find(out.begin(), out.end(), tried) == out.end())
      out.push_back(std::move(tried));
  }
  return out;
}

}  // namespace rush
