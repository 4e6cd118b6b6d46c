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

// The tensor that a promise is about; undefined where the arguments have none there.
at::Tensor tensor_of(const std::vector<Const> &args, const Promise &p) {
  at::Tensor out;
  size_t at = 0;
  if (p.input < args.size() && args[p.input].tensor.defined() != p.inside)
    each_given(args[p.input], [&](const at::Tensor &t) {
      if (at++ == p.leaf) out = t;
    });
  return out;
}

// As the first example has it; -1 where there is none.
int64_t rank_of(const Method &m, const Promise &p, const std::vector<Example> &examples) {
  for (const Example &e : examples) {
    if (e.store || e.method != m.name) continue;
    const at::Tensor t = tensor_of(e.args, p);
    return t.defined() ? t.dim() : 0;
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
    return std::tie(p.input, p.leaf, p.dim) >= std::tie(more.input, more.leaf, more.dim);
  });
  if (at == all->end() || at->input != more.input || at->leaf != more.leaf || at->dim != more.dim) {
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
    for (Promise p : promises) {
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
  std::map<std::string, int64_t> most;  // by name; 0 where a size of it stays
  std::vector<Growing> out;
  for (const Promise &p : promises) {
    const at::Tensor t = tensor_of(args, p);
    if (!t.defined() || p.dim >= t.dim()) continue;
    const int64_t size = t.size(p.dim);
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
      tried[g.promise->input].push_back({g.promise->leaf, g.promise->dim, grown(g, step)});
    if (!sizes.empty() && std::find(out.begin(), out.end(), tried) == out.end())
      out.push_back(std::move(tried));
  }
  return out;
}

}  // namespace rush
