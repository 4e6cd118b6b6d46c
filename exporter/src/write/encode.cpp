#include "write/encode.h"

#include <rushlight/rushlight.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <unordered_map>

#include "base/sha256.h"
#include "write/tables.h"

namespace rush {

namespace {

class Encoder {
 public:
  Encoder(const Program &program, const std::vector<Constraint> &constraints)
      : program_(program), given_(constraints), storages_(program), tables_(storages_) {}

  Encoded run() {
    for (const Method &m : program_.methods) method(m);
    constraints();
    for (const Attribute &a : program_.attributes)
      attributes_.push_back(
          {tables_.string(a.name), tables_.type(*a.type), tables_.constant(a.initial), 0});
    for (const Test &t : program_.tests) test(t);
    for (const auto &[key, value] : program_.meta)
      meta_.push_back({tables_.string(key), tables_.string(value)});
    for (const Text &t : program_.texts)
      texts_.push_back({tables_.string(t.module), static_cast<uint32_t>(t.kind),
                        tables_.string(tables_.class_names.in(t.text)), 0});
    Encoded out;
    assets(&out);
    out.storages = storages_.list();
    out.weights_bytes = weights_bytes_;
    out.test_bytes = storages_.of_tests();
    out.asset_bytes = weights_bytes_ - storages_.total();
    out.head = head();
    return out;
  }

 private:
  // ---- methods

  void method(const Method &m) {
    rush_file_method record = {};
    record.name = tables_.string(m.name);
    record.inputs = ports(m.inputs);
    record.n_inputs = static_cast<uint32_t>(m.inputs.size());
    // A branch that always raises has no results.
    const bool none = m.graph->top.results.input(0)->type->kind == RUSH_TYPE_NONE;
    const std::vector<Port> outputs = none ? std::vector<Port>{} : m.outputs;
    record.outputs = ports(outputs);
    record.n_outputs = static_cast<uint32_t>(outputs.size());
    record.instrs = static_cast<uint32_t>(instrs_.size());
    record.registers = first_register_ = static_cast<uint32_t>(registers_.size());
    register_of_.clear();
    const Block &top = m.graph->top;
    for (const Value *v : top.params) define(v);
    block(top);
    instr(RUSH_OPCODE_RETURN, RUSH_NONE, top.results.inputs, {}, {});
    record.result = tables_.type(*top.results.input(0)->type);
    record.n_instrs = static_cast<uint32_t>(instrs_.size()) - record.instrs;
    record.n_registers = static_cast<uint32_t>(registers_.size()) - record.registers;
    methods_.push_back(record);
  }

  uint32_t ports(const std::vector<Port> &ports) {
    for (const Port &p : ports)
      ports_.push_back({tables_.string(p.name), tables_.type(*p.type), tables_.hint(p),
                        p.initial ? tables_.constant(*p.initial) : RUSH_NONE});
    return static_cast<uint32_t>(ports_.size() - ports.size());
  }

  // Constraints and methods have the same order, so that ports are sorted.
  void constraints() {
    if (given_.size() > RUSH_MAX_CONSTRAINTS)
      throw std::invalid_argument("the sizes with constraints must be at most " +
                                  std::to_string(RUSH_MAX_CONSTRAINTS) + ", got " +
                                  std::to_string(given_.size()));
    for (const Constraint &p : given_)
      if (!p.inside)
        constraints_.push_back({methods_[p.method].inputs + static_cast<uint32_t>(p.input),
                                static_cast<uint32_t>(p.dim), tables_.string_or_none(p.name), 0,
                                p.min, p.max});
  }

  void define(const Value *v) {
    register_of_[v] = static_cast<uint32_t>(registers_.size()) - first_register_;
    registers_.push_back({tables_.type(*v->type), tables_.string_or_none(v->name)});
  }

  uint32_t operand(const Value *v) {
    if (v->is_constant()) return tables_.constant(*v->constant) | RUSH_OPERAND_CONSTANT;
    return register_of_.at(v);
  }

  static uint16_t count(size_t n) {
    if (n > UINT16_MAX)
      throw std::invalid_argument("an instruction must have at most " + std::to_string(UINT16_MAX) +
                                  " values, got " + std::to_string(n));
    return static_cast<uint16_t>(n);
  }

  uint32_t instr(rush_opcode opcode, uint32_t op, const std::vector<Value *> &in,
                 const std::vector<Value *> &out, const Source &source) {
    rush_file_instr record = {};
    record.opcode = static_cast<uint16_t>(opcode);
    record.n_in = count(in.size());
    record.n_out = count(out.size());
    record.op = op;
    record.operands = static_cast<uint32_t>(operands_.size());
    record.target = RUSH_NONE;
    record.source = tables_.source(source);
    for (const Value *v : in) operands_.push_back(operand(v));
    for (const Value *v : out) define(v);
    for (const Value *v : out) operands_.push_back(operand(v));
    instrs_.push_back(record);
    return static_cast<uint32_t>(instrs_.size() - 1);
  }

  // Returns the number of pointwise operators in a row from `at` on, at most RUSH_MAX_CHAIN.
  static int64_t chain_at(const Block &b, NodeList::const_iterator at) {
    int64_t n = 0;
    for (; at != b.nodes.end() && n < RUSH_MAX_CHAIN; ++at, n++)
      if ((*at)->outputs.size() != 1 || !rush_may_chain((*at)->op.c_str())) break;
    return n;
  }

  // Writes rush::chain in front of pointwise operators, so that the runtime walks over their
  // elements once.
  void chain(int64_t n, const Source &source) {
    Value count;
    count.constant = std::make_shared<const Const>(const_int(n));
    Source beside = source;
    beside.handle = 0;
    instr(RUSH_OPCODE_OP, tables_.op("rush::chain"), {&count}, {}, beside);
  }

  void block(const Block &b) {
    int64_t chained = 0;
    for (auto at = b.nodes.begin(); at != b.nodes.end(); ++at, chained--) {
      const auto &node = *at;
      if (chained <= 0 && (chained = chain_at(b, at)) > 1) chain(chained, node->source);
      if (node->op == "prim::If")
        branch(*node);
      else if (node->op == "prim::Loop")
        loop(*node);
      else
        instr(RUSH_OPCODE_OP, tables_.op(node->op), node->inputs, node->outputs, node->source);
    }
  }

  void branch(const Node &node) {
    const uint32_t at_if = instr(RUSH_OPCODE_IF, RUSH_NONE, node.inputs, node.outputs, node.source);
    block(*node.blocks[0]);
    const uint32_t at_else =
        instr(RUSH_OPCODE_ELSE, RUSH_NONE, node.blocks[0]->results.inputs, {}, node.source);
    block(*node.blocks[1]);
    const uint32_t at_end =
        instr(RUSH_OPCODE_END_IF, RUSH_NONE, node.blocks[1]->results.inputs, {}, node.source);
    instrs_[at_if].target = at_else;
    instrs_[at_else].target = at_end;
    instrs_[at_end].target = at_if;
  }

  void loop(const Node &node) {
    const Block &body = *node.blocks[0];
    std::vector<Value *> out = node.outputs;
    out.insert(out.end(), body.params.begin(), body.params.end());
    const uint32_t at_loop = instr(RUSH_OPCODE_LOOP, RUSH_NONE, node.inputs, out, node.source);
    block(body);
    const uint32_t at_end =
        instr(RUSH_OPCODE_END_LOOP, RUSH_NONE, body.results.inputs, {}, node.source);
    instrs_[at_loop].target = at_end;
    instrs_[at_end].target = at_loop;
  }

  static Const tuple_of(const std::vector<Const> &items) {
    Const tuple;
    tuple.kind = RUSH_CONST_TUPLE;
    tuple.items = items;
    std::vector<TypeRef> types;
    for (const Const &c : items) types.push_back(type_of(c));
    tuple.type = make_type(RUSH_TYPE_TUPLE, std::move(types));
    return tuple;
  }

  void test(const Test &t) {
    for (const Traced &node : t.traced) {
      if (!node.exact.empty())
        exact_.push_back(
            {static_cast<uint32_t>(traced_.size()), tables_.constant(tuple_of(node.exact))});
      traced_.push_back({static_cast<uint32_t>(tests_.size()),
                         tables_.constant(tuple_of(node.results)), node.handle});
    }
    for (const Measure &m : t.measures)
      measures_.push_back({static_cast<uint32_t>(tests_.size()),
                           m.exact ? tables_.constant(*m.exact) : RUSH_NONE,
                           static_cast<float>(m.rtol), static_cast<float>(m.atol)});
    tests_.push_back({static_cast<uint32_t>(t.method), tables_.constant(tuple_of(t.inputs)),
                      tables_.constant(t.output), t.rtol, t.atol});
  }

  // ---- assets

  static void check_name(const std::string &name) {
    if (name.empty() || name.size() > RUSH_MAX_ASSET_NAME)
      throw std::invalid_argument("the name of an asset must have 1 to " +
                                  std::to_string(RUSH_MAX_ASSET_NAME) + " bytes, got " +
                                  std::to_string(name.size()));
  }

  // Appends the assets to the weights, by their names.
  void assets(Encoded *out) {
    std::map<std::string, const Asset *> sorted;
    for (const Asset &a : program_.assets) {
      check_name(a.name);
      if (!sorted.emplace(a.name, &a).second)
        throw std::invalid_argument("the names of assets must be distinct, got " + a.name +
                                    " twice");
    }
    if (sorted.size() > RUSH_MAX_ASSETS)
      throw std::invalid_argument("the assets must be at most " + std::to_string(RUSH_MAX_ASSETS) +
                                  ", got " + std::to_string(sorted.size()));
    weights_bytes_ = storages_.total();
    for (const auto &[name, asset] : sorted) {
      rush_file_asset record = {tables_.string(name), 0, weights_bytes_, asset->bytes.size(), {}};
      const auto *data = reinterpret_cast<const uint8_t *>(asset->bytes.data());
      const auto digest = sha256(data, asset->bytes.size());
      std::copy(digest.begin(), digest.end(), record.sha256);
      assets_.push_back(record);
      out->assets.push_back({data, record.bytes, record.offset});
      weights_bytes_ = up(weights_bytes_ + record.bytes, RUSH_ALIGN);
    }
  }

  // ---- the head's bytes

  static uint64_t up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

  template <class T>
  void section(uint32_t id, const std::vector<T> &records) {
    if (records.empty()) return;
    if (records.size() > UINT32_MAX) throw std::invalid_argument("too many records");
    rush_file_section s = {id, static_cast<uint32_t>(records.size()), 0,
                           records.size() * sizeof(T)};
    sections_.emplace_back(s, reinterpret_cast<const char *>(records.data()));
  }

  std::vector<char> head() {
    std::vector<rush_file_storage> storage_records;
    std::vector<rush_file_uniform> uniform_records;
    for (const StorageBytes &s : storages_.list()) {
      if (s.uniform) {
        uniform_records.push_back({static_cast<uint32_t>(storage_records.size()), {}});
        std::memcpy(uniform_records.back().pattern, s.data, sizeof uniform_records.back().pattern);
      }
      storage_records.push_back({s.offset, s.bytes});
    }
    section(RUSH_SEC_STRING_BYTES, tables_.string_bytes);
    section(RUSH_SEC_STRINGS, tables_.strings);
    section(RUSH_SEC_LISTS, tables_.lists);
    section(RUSH_SEC_TYPES, tables_.types);
    section(RUSH_SEC_STORAGES, storage_records);
    section(RUSH_SEC_TENSORS, tables_.tensors);
    section(RUSH_SEC_CONSTANTS, tables_.constants);
    section(RUSH_SEC_OPS, tables_.ops);
    section(RUSH_SEC_ATTRIBUTES, attributes_);
    section(RUSH_SEC_HINTS, tables_.hints);
    section(RUSH_SEC_PORTS, ports_);
    section(RUSH_SEC_REGISTERS, registers_);
    section(RUSH_SEC_OPERANDS, operands_);
    section(RUSH_SEC_INSTRS, instrs_);
    section(RUSH_SEC_METHODS, methods_);
    section(RUSH_SEC_UNIFORM, uniform_records);
    section(RUSH_SEC_SOURCES, tables_.sources);
    section(RUSH_SEC_TESTS, tests_);
    section(RUSH_SEC_META, meta_);
    section(RUSH_SEC_TEXTS, texts_);
    section(RUSH_SEC_TRACED, traced_);
    section(RUSH_SEC_CONSTRAINTS, constraints_);
    section(RUSH_SEC_MEASURES, measures_);
    section(RUSH_SEC_EXACT, exact_);
    section(RUSH_SEC_ASSETS, assets_);
    return assemble();
  }

  std::vector<char> assemble() {
    uint64_t at = RUSH_HEADER_BYTES + sections_.size() * sizeof(rush_file_section);
    for (auto &[s, data] : sections_) {
      at = s.offset = up(at, 8);
      at += s.bytes;
    }
    const uint64_t head_bytes = up(at, RUSH_ALIGN);
    if (head_bytes > RUSH_MAX_HEAD_BYTES)
      throw std::invalid_argument("the program must take at most " +
                                  std::to_string(RUSH_MAX_HEAD_BYTES) +
                                  " bytes besides its weights, got " + std::to_string(head_bytes));
    std::vector<char> out(head_bytes, 0);
    rush_file_header header = {};
    std::memcpy(header.magic, RUSH_MAGIC, sizeof header.magic);
    header.version = RUSH_FORMAT_VERSION;
    header.n_sections = static_cast<uint32_t>(sections_.size());
    header.head_bytes = head_bytes;
    header.weights_bytes = weights_bytes_;
    header.file_bytes = head_bytes + weights_bytes_;
    std::memcpy(out.data(), &header, sizeof header);
    char *entry = out.data() + RUSH_HEADER_BYTES;
    for (const auto &[s, data] : sections_) {
      std::memcpy(entry, &s, sizeof s);
      entry += sizeof s;
      std::memcpy(out.data() + s.offset, data, s.bytes);
    }
    return out;
  }

  const Program &program_;
  const std::vector<Constraint> &given_;
  Storages storages_;
  Tables tables_;
  std::vector<rush_file_method> methods_;
  std::vector<rush_file_port> ports_;
  std::vector<rush_file_register> registers_;
  std::vector<uint32_t> operands_;
  std::vector<rush_file_instr> instrs_;
  std::vector<rush_file_attribute> attributes_;
  std::vector<rush_file_test> tests_;
  std::vector<rush_file_meta> meta_;
  std::vector<rush_file_text> texts_;
  std::vector<rush_file_traced> traced_;
  std::vector<rush_file_constraint> constraints_;
  std::vector<rush_file_measure> measures_;
  std::vector<rush_file_exact> exact_;
  std::vector<rush_file_asset> assets_;
  uint64_t weights_bytes_ = 0;
  std::vector<std::pair<rush_file_section, const char *>> sections_;
  uint32_t first_register_ = 0;
  std::unordered_map<const Value *, uint32_t> register_of_;
};

}  // namespace

Encoded encode(const Program &program, const std::vector<Constraint> &constraints) {
  return Encoder(program, constraints).run();
}

}  // namespace rush
