// Parses the text of print.cpp by recursive descent over one string.
#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <stdexcept>

#include "ir/graph.h"
#include "ir/scanner.h"

namespace rush {

namespace {

class Parser final : Scanner {
 public:
  explicit Parser(const std::string &text) : Scanner(text) {}

  std::unique_ptr<Graph> graph() {
    auto graph = std::make_unique<Graph>();
    graph_ = graph.get();
    want("graph");
    params(&graph->top);
    want(":");
    body(&graph->top, "return");
    if (!at_end()) fail("the end");
    return graph;
  }

  TypeRef whole_type() {
    TypeRef t = type();
    if (!at_end()) fail("the end");
    return t;
  }

 private:
  TypeRef type() {
    TypeRef t = plain_type();
    for (;;) {
      if (take("[]"))
        t = list_of(t);
      else if (take("?"))
        t = make_type(RUSH_TYPE_OPTIONAL, {t});
      else
        return t;
    }
  }

  [[noreturn]] void fail(const std::string &wanted) const override {
    size_t line = 1;
    for (size_t i = 0; i < at_; i++) line += text_[i] == '\n';
    throw std::invalid_argument("line " + std::to_string(line) + ": expected " + wanted + " at '" +
                                text_.substr(at_, 20) + "'");
  }
  std::string identifier(const char *others = "_.") {
    std::string out = word(others);
    if (out.empty()) fail("a name");
    return out;
  }

  // ---- types

  std::vector<TypeRef> types_in_parens(std::vector<std::string> *fields) {
    std::vector<TypeRef> out;
    want("(");
    while (!take(")")) {
      size_t start = at_;
      if (fields) {
        space();
        std::string field = is_letter(text_[at_]) ? identifier() : "";
        if (!field.empty() && take(":"))
          fields->push_back(field);
        else
          at_ = start;
      }
      out.push_back(type());
      if (!peek(")")) want(",");
    }
    return out;
  }
  TypeRef plain_type() {
    if (peek("(")) return make_type(RUSH_TYPE_TUPLE, types_in_parens(nullptr));
    static const std::map<std::string, rush_type_kind> plain = {
        {"None", RUSH_TYPE_NONE},       {"NoneType", RUSH_TYPE_NONE},
        {"Tensor", RUSH_TYPE_TENSOR},   {"int", RUSH_TYPE_INT},
        {"float", RUSH_TYPE_FLOAT},     {"bool", RUSH_TYPE_BOOL},
        {"complex", RUSH_TYPE_COMPLEX}, {"str", RUSH_TYPE_STR},
        {"Any", RUSH_TYPE_ANY},         {"Scalar", RUSH_TYPE_NUMBER},
        {"Device", RUSH_TYPE_DEVICE},   {"Generator", RUSH_TYPE_GENERATOR}};
    static const std::map<std::string, rush_type_kind> generic = {
        {"Dict", RUSH_TYPE_DICT}, {"Union", RUSH_TYPE_UNION}, {"Future", RUSH_TYPE_FUTURE}};
    std::string name = identifier();
    if (auto found = plain.find(name); found != plain.end()) return make_type(found->second);
    if (auto found = generic.find(name); found != generic.end())
      return make_type(found->second, types_in_parens(nullptr));
    if (name == "Object" || name == "Enum") {
      want("(");
      std::string cls = identifier();
      want(")");
      return make_type(name == "Object" ? RUSH_TYPE_OBJECT : RUSH_TYPE_ENUM, {}, cls);
    }
    if (!peek("(")) fail("a type instead of '" + name + "'");
    std::vector<std::string> fields;
    std::vector<TypeRef> items = types_in_parens(&fields);
    return make_type(RUSH_TYPE_TUPLE, std::move(items), name, std::move(fields));
  }

  // ---- constants

  std::string quoted() {
    want("\"");
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && ++at_ < text_.size())
        out += text_[at_] == 'n' ? '\n' : text_[at_];
      else
        out += text_[at_];
      at_++;
    }
    want("\"");
    return out;
  }
  Const number() {
    space();
    size_t from = at_;
    if (take("-inf")) return const_float(-std::numeric_limits<double>::infinity());
    if (take("inf")) return const_float(std::numeric_limits<double>::infinity());
    if (take("nan")) return const_float(std::numeric_limits<double>::quiet_NaN());
    take("-");
    std::string digits = identifier(".");
    if (digits.back() == 'e' && (peek("-") || peek("+"))) {
      at_++;
      identifier();
    }
    std::string all = text_.substr(from, at_ - from);
    if (all.find_first_of(".e") != std::string::npos) return const_float(std::stod(all));
    return const_int(std::stoll(all));
  }
  std::vector<Const> literals(const char *close) {
    std::vector<Const> out;
    while (!take(close)) {
      out.push_back(literal());
      if (!peek(close)) want(",");
    }
    return out;
  }
  Const tensor() {
    const rush_dtype dtype = dtype_from_name(identifier());
    Sizes sizes;
    want("[");
    while (!take("]")) {
      sizes.push_back(number().i);
      if (!peek("]")) want(",");
    }
    std::vector<double> values(static_cast<size_t>(product(sizes)));
    if (take("=")) {
      values.assign(values.size(), number().number());
    } else {
      const double step = is_floating_point(dtype) ? 0.25 : 1;
      for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<double>(i % 5) * step;
    }
    std::string name = peek("\"") ? quoted() : "";
    want(">");
    return const_tensor(Tensor::of(dtype, sizes, values), name);
  }
  Const literal() {
    if (take("None")) return const_none();
    if (take("True")) return const_bool(true);
    if (take("False")) return const_bool(false);
    if (peek("\"")) return const_str(quoted());
    if (take("<")) return tensor();
    if (take("device(")) {
      Const c = const_str(quoted());
      c.kind = RUSH_CONST_DEVICE;
      want(")");
      return c;
    }
    if (take("complex(")) {
      Const c;
      c.kind = RUSH_CONST_COMPLEX;
      c.f = number().number();
      want(",");
      c.im = number().number();
      want(")");
      return c;
    }
    if (take("[")) {
      Const c = const_list(make_type(RUSH_TYPE_ANY), literals("]"));
      if (take(":"))
        c.type = type();
      else if (!c.items.empty())
        c.type = list_of(type_of(c.items[0]));
      return c;
    }
    if (take("(")) return tuple();
    if (take("{")) return dict();
    return number();
  }
  Const tuple() {
    Const c;
    c.kind = RUSH_CONST_TUPLE;
    c.items = literals(")");
    std::vector<TypeRef> types;
    for (const Const &item : c.items) types.push_back(type_of(item));
    c.type = make_type(RUSH_TYPE_TUPLE, std::move(types));
    return c;
  }
  Const dict() {
    Const c;
    c.kind = RUSH_CONST_DICT;
    while (!take("}")) {
      c.items.push_back(literal());
      want(":");
      c.items.push_back(literal());
      if (!peek("}")) want(",");
    }
    if (c.items.empty()) {
      want(":");
      c.type = type();
    } else {
      c.type = make_type(RUSH_TYPE_DICT, {type_of(c.items[0]), type_of(c.items[1])});
    }
    return c;
  }

  // ---- nodes

  void define(const std::string &name, Value *value) { values_[name] = value; }
  Value *value() {
    if (!take("%")) return graph_->constant(literal());
    std::string name = identifier();
    auto found = values_.find(name);
    if (found == values_.end()) fail("a value defined before instead of %" + name);
    return found->second;
  }
  void operands(Node *node) {
    want("(");
    while (!take(")")) {
      node->add_input(value());
      if (!peek(")")) want(",");
    }
  }
  void params(Block *block) {
    want("(");
    while (!take(")")) {
      want("%");
      std::string name = identifier();
      want(":");
      define(name, block->add_param(type(), name));
      if (!peek(")")) want(",");
    }
  }
  void body(Block *block, const std::string &end) {
    while (!take(end)) node(block);
    operands(&block->results);
  }
  // "# net.py:12" behind a node is its source.
  Source source() {
    Source out;
    while (at_ < text_.size() && text_[at_] == ' ') at_++;
    if (at_ == text_.size() || text_[at_] != '#') return out;
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string line = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end;
    const size_t colon = line.rfind(':'), from = line.find_first_not_of(' ');
    const std::string number = colon == std::string::npos ? "" : line.substr(colon + 1);
    if (number.empty() || number.size() > 9 ||
        number.find_first_not_of("0123456789") != std::string::npos)
      return out;
    out.line = static_cast<uint32_t>(std::stoul(number));
    out.file = line.substr(from, colon - from);
    return out;
  }
  void node(Block *block) {
    std::vector<std::pair<std::string, TypeRef>> outputs;
    while (take("%")) {
      std::string name = identifier();
      want(":");
      outputs.emplace_back(name, type());
      if (!take(",")) want("=");
    }
    Node *node = block->append(identifier("_.:"));
    operands(node);
    node->source = source();
    size_t n_blocks = node->op == "prim::If" ? 2 : node->op == "prim::Loop" ? 1 : 0;
    for (size_t i = 0; i < n_blocks; i++) {
      Block *inner = node->add_block();
      want("block" + std::to_string(i));
      params(inner);
      want(":");
      body(inner, "->");
    }
    for (auto &[name, t] : outputs) define(name, node->add_output(t, name));
  }

  Graph *graph_ = nullptr;
  std::map<std::string, Value *> values_;
};

}  // namespace

std::unique_ptr<Graph> parse_graph(const std::string &text) {
  return Parser(text).graph();
}

TypeRef parse_type(const std::string &text) {
  return Parser(text).whole_type();
}

}  // namespace rush
