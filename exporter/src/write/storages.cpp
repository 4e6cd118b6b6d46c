#include "write/storages.h"

#include <algorithm>
#include <cstring>

#include "ir/unsupported.h"
#include "rushlight/rushlight.h"

namespace rush {

namespace {

// Returns the bytes [from, to) of its storage that a tensor reaches.
std::pair<uint64_t, uint64_t> reach(const Tensor &t) {
  if (t.numel() == 0) return {0, 0};
  const uint64_t from = static_cast<uint64_t>(t.storage_offset()) * t.itemsize();
  return {from, from + t.reach()};
}

uint64_t aligned(uint64_t n) {
  return (n + RUSH_ALIGN - 1) / RUSH_ALIGN * RUSH_ALIGN;
}

// FNV-1a over words. It finds candidates, which are then compared.
uint64_t hash_of(const uint8_t *data, uint64_t n) {
  uint64_t h = 14695981039346656037u ^ n;
  uint64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t word;
    std::memcpy(&word, data + i, 8);
    h = (h ^ word) * 1099511628211u;
    h ^= h >> 32;
  }
  for (; i < n; i++) h = (h ^ data[i]) * 1099511628211u;
  return h;
}

// Returns whether the bytes repeat the first eight, and are more than a record of the file takes.
bool repeats(const uint8_t *data, uint64_t bytes) {
  return bytes > RUSH_ALIGN && std::memcmp(data, data + 8, bytes - 8) == 0;
}

// "float32, float64, ..."
std::string known_dtypes() {
  std::string out;
  for (int d = 0; d < kDtypeCount; d++)
    if (rush_has_dtype(d))
      out += (out.empty() ? "" : ", ") + std::string(dtype_name(static_cast<rush_dtype>(d)));
  return out;
}

// Throws Unsupported unless it can be stored. `what` names a tensor without a name.
void storable(const Const &c, const std::string &what) {
  const Tensor &t = c.tensor;
  const std::string name = c.s.empty() ? what : "'" + c.s + "'";
  const Foreign &foreign = t.foreign();
  if (foreign.form == "quantized")
    throw Unsupported(name + " must not be a quantized tensor: store its integers");
  if (!foreign.form.empty())
    throw Unsupported(name + " must not be sparse: make it dense (to_dense())");
  if (!foreign.device.empty())
    throw Unsupported(name + " must be on the CPU, got " + foreign.device +
                      ": move the model to the CPU");
  if (foreign.no_memory) throw Unsupported(name + " has no strided memory");
  if (!rush_has_dtype(static_cast<int>(t.dtype())))
    throw Unsupported(name + " has dtype " + dtype_name(t.dtype()) +
                      ", which is not supported; supported are " + known_dtypes());
  if (t.dim() > RUSH_MAX_RANK)
    throw Unsupported(name + " must have at most " + std::to_string(RUSH_MAX_RANK) +
                      " dimensions, got " + std::to_string(t.dim()));
}

}  // namespace

Storages::Storages(const Program &program) {
  for (const Method &m : program.methods) add(program, m);
  for (const Attribute &a : program.attributes)
    each_tensor(a.initial, [&](const Const &c) { add(c, true); });
  const size_t tests = ranges_.size();
  for (const Test &test : program.tests) add(program, test);
  list_ranges(tests);
  bound_uniform();
  lay_out();
}

void Storages::add(const Program &program, const Method &m) {
  const auto add_value = [&](const Value *v) {
    if (v->is_constant()) each_tensor(*v->constant, [&](const Const &c) { add(c, false); });
  };
  for (const Node *node : all_nodes(*m.graph)) {
    std::vector<Const> used;
    for (const Value *v : node->inputs)
      if (v->is_constant()) each_tensor(*v->constant, [&](const Const &c) { used.push_back(c); });
    std::stable_sort(used.begin(), used.end(), [](const Const &a, const Const &b) {
      return a.tensor.nbytes() < b.tensor.nbytes();
    });
    for (const Const &c : used) add(c, false);
    if (node->op == "rush::get_attr")
      each_tensor(program.attributes[static_cast<size_t>(node->constant(0)->i)].initial,
                  [&](const Const &c) { add(c, true); });
  }
  for (const Value *v : m.graph->top.results.inputs) add_value(v);
  for (const Node *node : all_nodes(*m.graph))
    for (const auto &block : node->blocks)
      for (const Value *v : block->results.inputs) add_value(v);
  for (const Port &port : m.inputs)
    if (port.initial) each_tensor(*port.initial, [&](const Const &c) { add(c, false); });
}

void Storages::add(const Program &program, const Test &test) {
  const Method &m = program.methods[test.method];
  for (size_t i = 0; i < test.inputs.size(); i++) {
    const std::string what = "the input '" + m.inputs.at(i).name + "'";
    if (test.inputs[i].kind == RUSH_CONST_RANDOM) storable(test.inputs[i], what);
    each_tensor(test.inputs[i], [&](const Const &c) { add(c, true, what); });
  }
  each_tensor(test.output, [&](const Const &c) { add(c, true, "a result of " + m.name); });
  for (const Measure &measure : test.measures)
    if (measure.exact) each_tensor(*measure.exact, [&](const Const &c) { add(c, true); });
  for (const Traced &node : test.traced)
    for (const auto *values : {&node.results, &node.exact})
      for (const Const &value : *values) each_tensor(value, [&](const Const &c) { add(c, false); });
}

void Storages::add(const Const &c, bool apart, const std::string &what) {
  storable(c, what);
  auto [at, is_new] = by_storage_.emplace(c.tensor.storage_id(), ranges_.size());
  if (is_new) ranges_.emplace_back();
  Range &range = ranges_[at->second];
  range.owner = c.tensor;
  range.mutable_or_test |= apart;
  auto [from, to] = reach(c.tensor);
  if (from == to) return;
  range.from = std::min(range.from, from / 16 * 16);  // whole elements of every dtype
  range.to = std::max(range.to, to);
}

void Storages::list_ranges(size_t tests) {
  std::multimap<uint64_t, uint32_t> by_hash;
  for (size_t i = 0; i < ranges_.size(); i++) {
    Range &range = ranges_[i];
    if (i == tests) first_of_tests_ = list_.size();
    StorageBytes s;
    if (range.to == 0) range.from = 0;
    s.owner = range.owner;
    s.data = static_cast<const uint8_t *>(range.owner.storage()->data) + range.from;
    s.bytes = range.to - range.from;
    range.index = static_cast<uint32_t>(list_.size());
    if (!range.mutable_or_test && s.bytes > 0) {
      const uint64_t hash = hash_of(s.data, s.bytes);
      auto [from, to] = by_hash.equal_range(hash);
      auto twin = std::find_if(from, to, [&](const auto &entry) {
        const StorageBytes &other = list_[entry.second];
        return other.bytes == s.bytes && std::memcmp(other.data, s.data, s.bytes) == 0;
      });
      if (twin != to) {
        range.index = twin->second;
        continue;
      }
      by_hash.emplace(hash, range.index);
    }
    s.uniform = repeats(s.data, s.bytes);
    list_.push_back(std::move(s));
  }
  if (tests == ranges_.size()) first_of_tests_ = list_.size();
}

// A reader limits the memory of a call by the size of the file: 64 MiB, and 64 bytes for each byte.
// Uniform storages take at most half of that. The largest of the others are written.
void Storages::bound_uniform() {
  uint64_t uniform = 0, stored = 0;
  std::vector<StorageBytes *> by_size;
  for (StorageBytes &s : list_) {
    stored += s.stored();
    uniform += s.bytes - s.stored();
    if (s.uniform) by_size.push_back(&s);
  }
  std::stable_sort(by_size.begin(), by_size.end(),
                   [](const auto *a, const auto *b) { return a->bytes > b->bytes; });
  for (StorageBytes *s : by_size) {
    if (uniform / 32 <= stored + (1 << 20)) break;
    s->uniform = false;
    uniform -= s->bytes;
    stored += s->bytes;
  }
}

void Storages::lay_out() {
  for (size_t i = 0; i < list_.size(); i++) {
    if (i == first_of_tests_) program_ = total_;
    list_[i].offset = total_;
    total_ = aligned(total_ + list_[i].stored());
  }
  if (first_of_tests_ == list_.size()) program_ = total_;
}

Storages::Place Storages::place(const Tensor &tensor) const {
  const Range &range = ranges_[by_storage_.at(tensor.storage_id())];
  if (tensor.numel() == 0) return {range.index, 0};
  const uint64_t item = tensor.itemsize();
  return {range.index, static_cast<uint64_t>(tensor.storage_offset()) - range.from / item};
}

}  // namespace rush
