// Parses schemas as torch prints them: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) ->
// Tensor".
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "ir/scanner.h"
#include "ir/schema.h"

namespace rush {

namespace {

class SchemaParser final : Scanner {
 public:
  explicit SchemaParser(const std::string &text) : Scanner(text) {}

  Schema schema() {
    Schema out;
    out.text = text_;
    const size_t open = text_.find('(');
    if (open == std::string::npos) fail("'('");
    out.name = base_name(text_.substr(0, open));
    at_ = open + 1;
    out.args = arguments(&out.variadic);
    want("->");
    out.returns = returns(&out.variadic);
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string &wanted) const override {
    throw std::invalid_argument("a schema must have " + wanted + " at '" + text_.substr(at_, 20) +
                                "': " + text_);
  }

  // ---- Arguments

  std::vector<Argument> arguments(bool *variadic) {
    std::vector<Argument> out;
    bool keyword_only = false;
    while (!take(")")) {
      if (take("...")) {
        *variadic = true;
      } else if (take("*")) {
        keyword_only = true;
      } else {
        out.push_back(argument());
        out.back().keyword_only = keyword_only;
        out.back().out = keyword_only && out.back().alias && out.back().alias->write;
      }
      if (!peek(")")) want(",");
    }
    return out;
  }

  Argument argument() {
    Argument out = typed();
    out.name = word("_");
    if (take("=")) out.initial = initial(*out.type, out.repeat);
    return out;
  }

  std::vector<Argument> returns(bool *variadic) {
    if (take("...")) {
      *variadic = true;
      return {};
    }
    std::vector<Argument> out;
    if (!take("(")) {
      out.push_back(typed());
      out.back().name = word("_");
      return out;
    }
    while (!take(")")) {
      if (take("...")) {
        *variadic = true;
      } else {
        out.push_back(typed());
        out.back().name = word("_");
      }
      if (!peek(")")) want(",");
    }
    return out;
  }

  // ---- Types

  Argument typed() {
    Argument out;
    out.type = type(&out);
    return out;
  }

  // `of` gets the alias annotation and the number of a list such as int[2].
  TypeRef type(Argument *of) {
    TypeRef out = plain_type(of);
    for (;;) {
      if (peek("(") && at_ < text_.size() && text_[at_] == '(' && !of->alias) {
        at_++;
        of->alias = alias();
      } else if (take("[")) {
        const std::string n = word("");
        if (!n.empty()) of->repeat = std::stoll(n);
        want("]");
        out = list_of(out);
      } else if (take("?")) {
        out = make_type(RUSH_TYPE_OPTIONAL, {out});
      } else {
        return out;
      }
    }
  }

  TypeRef plain_type(Argument *of) {
    if (take("(")) return make_type(RUSH_TYPE_TUPLE, types(of));
    static const std::map<std::string, rush_type_kind> plain = {
        {"Tensor", RUSH_TYPE_TENSOR},   {"int", RUSH_TYPE_INT},
        {"SymInt", RUSH_TYPE_INT},      {"ScalarType", RUSH_TYPE_INT},
        {"Layout", RUSH_TYPE_INT},      {"MemoryFormat", RUSH_TYPE_INT},
        {"float", RUSH_TYPE_FLOAT},     {"SymFloat", RUSH_TYPE_FLOAT},
        {"bool", RUSH_TYPE_BOOL},       {"SymBool", RUSH_TYPE_BOOL},
        {"complex", RUSH_TYPE_COMPLEX}, {"str", RUSH_TYPE_STR},
        {"Scalar", RUSH_TYPE_NUMBER},   {"number", RUSH_TYPE_NUMBER},
        {"Device", RUSH_TYPE_DEVICE},   {"Generator", RUSH_TYPE_GENERATOR},
        {"NoneType", RUSH_TYPE_NONE},   {"None", RUSH_TYPE_NONE}};
    const std::string name = word("_.");
    if (name.empty()) fail("a type");
    if (const auto found = plain.find(name); found != plain.end()) return make_type(found->second);
    if (name == "list") return list_of(make_type(RUSH_TYPE_ANY));
    if (name.rfind("__torch__.", 0) == 0) return make_type(RUSH_TYPE_OBJECT, {}, name);
    if (name == "Dict" && take("(")) return make_type(RUSH_TYPE_DICT, types(of));
    if (name == "Union" && take("(")) return make_type(RUSH_TYPE_UNION, types(of));
    if ((name == "Future" || name == "Await") && take("(")) return types(of).at(0);
    if (name == "RRef" && take("(")) types(of);
    return make_type(RUSH_TYPE_ANY);  // type variables, streams, ...
  }

  // Returns the types before ")". A container may give out its items.
  std::vector<TypeRef> types(Argument *of) {
    std::vector<TypeRef> out;
    while (!take(")")) {
      Argument item;
      out.push_back(type(&item));
      if (item.alias) of->alias = item.alias;
      if (!peek(")")) want(",");
    }
    return out;
  }

  // Parses "a! -> b|c)".
  AliasSet alias() {
    AliasSet out;
    out.before = sets(&out.write);
    out.after = take("->") ? sets(&out.write) : out.before;
    want(")");
    for (const std::string &set : out.after) out.wildcard |= set == "*";
    return out;
  }

  std::vector<std::string> sets(bool *write) {
    std::vector<std::string> out;
    do {
      if (take("*"))
        out.emplace_back("*");
      else if (const std::string name = word("_"); !name.empty())
        out.push_back(name);
    } while (take("|"));
    *write |= take("!");
    return out;
  }

  // ---- Defaults

  Const initial(const Type &type, std::optional<int64_t> repeat) {
    if (take("None")) return const_none();
    if (type.kind == RUSH_TYPE_OPTIONAL) return initial(*type.items[0], repeat);
    if (type.kind == RUSH_TYPE_LIST) return list(type, repeat);
    if (take("True")) return const_bool(true);
    if (take("False")) return const_bool(false);
    if (peek("\"")) return const_str(quoted());
    return number(type);
  }

  Const list(const Type &type, std::optional<int64_t> repeat) {
    Const out = const_list(type.items[0], {});
    if (!take("[")) {
      out.items.assign(static_cast<size_t>(repeat.value_or(1)), initial(*type.items[0], {}));
      return out;
    }
    while (!take("]")) {
      out.items.push_back(initial(*type.items[0], {}));
      if (!peek("]")) want(",");
    }
    return out;
  }

  Const number(const Type &type) {
    const std::string digits = word(".-+");
    if (digits.empty()) fail("a default");
    const bool whole = digits.find_first_not_of("-0123456789") == std::string::npos;
    if (type.kind == RUSH_TYPE_BOOL) return const_bool(digits != "0");
    if (whole && type.kind != RUSH_TYPE_FLOAT) return const_int(std::stoll(digits));
    return const_float(std::strtod(digits.c_str(), nullptr));
  }

  std::string quoted() {
    want("\"");
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') at_++;
      out += text_[at_++];
    }
    want("\"");
    return out;
  }
};

}  // namespace

Schema parse_schema(const std::string &text) {
  return SchemaParser(text).schema();
}

}  // namespace rush
