#include "ir/const.h"

#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace rush {

Const const_none() {
  return {};
}

Const const_int(int64_t value) {
  Const c;
  c.kind = RUSH_CONST_INT;
  c.i = value;
  return c;
}

Const const_float(double value) {
  Const c;
  c.kind = RUSH_CONST_FLOAT;
  c.f = value;
  return c;
}

Const const_bool(bool value) {
  Const c;
  c.kind = RUSH_CONST_BOOL;
  c.i = value;
  return c;
}

Const const_str(std::string value) {
  Const c;
  c.kind = RUSH_CONST_STR;
  c.s = std::move(value);
  return c;
}

Const const_tensor(Tensor value, std::string name) {
  Const c;
  c.kind = RUSH_CONST_TENSOR;
  c.tensor = std::move(value);
  c.s = std::move(name);
  return c;
}

Const const_list(TypeRef item, std::vector<Const> items) {
  Const c;
  c.kind = RUSH_CONST_LIST;
  c.items = std::move(items);
  c.type = list_of(std::move(item));
  return c;
}

Const const_ints(const std::vector<int64_t> &values) {
  std::vector<Const> items;
  for (int64_t v : values) items.push_back(const_int(v));
  return const_list(make_type(RUSH_TYPE_INT), std::move(items));
}

TypeRef type_of(const Const &value) {
  switch (value.kind) {
    case RUSH_CONST_TENSOR:
    case RUSH_CONST_RANDOM:
      return tensor_type();
    case RUSH_CONST_INT:
      return make_type(RUSH_TYPE_INT);
    case RUSH_CONST_FLOAT:
      return make_type(RUSH_TYPE_FLOAT);
    case RUSH_CONST_BOOL:
      return make_type(RUSH_TYPE_BOOL);
    case RUSH_CONST_COMPLEX:
      return make_type(RUSH_TYPE_COMPLEX);
    case RUSH_CONST_STR:
      return make_type(RUSH_TYPE_STR);
    case RUSH_CONST_DEVICE:
      return make_type(RUSH_TYPE_DEVICE);
    case RUSH_CONST_LIST:
    case RUSH_CONST_TUPLE:
    case RUSH_CONST_DICT:
    case RUSH_CONST_OBJECT:
    case RUSH_CONST_ENUM:
      return value.type;
    case RUSH_CONST_NONE:
      break;
  }
  return make_type(RUSH_TYPE_NONE);
}

namespace {

bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

bool same_tensor(const Tensor &a, const Tensor &b) {
  return a.is_same(b) ||
         (a.is_strided() && b.is_strided() && a.dtype() == b.dtype() &&
          a.storage_id() == b.storage_id() && a.storage_offset() == b.storage_offset() &&
          a.sizes() == b.sizes() && a.strides() == b.strides());
}

}  // namespace

bool same(const Const &a, const Const &b) {
  if (a.kind != b.kind || a.i != b.i || !same_bits(a.f, b.f) || !same_bits(a.im, b.im) ||
      a.s != b.s || a.items.size() != b.items.size())
    return false;
  if ((a.type != nullptr) != (b.type != nullptr) || (a.type && !equal(*a.type, *b.type)))
    return false;
  if (a.tensor.defined() != b.tensor.defined() ||
      (a.tensor.defined() && !same_tensor(a.tensor, b.tensor)))
    return false;
  for (size_t i = 0; i < a.items.size(); i++)
    if (!same(a.items[i], b.items[i])) return false;
  return true;
}

bool ints_of(const Const &value, std::vector<int64_t> *out) {
  if (!value.is_list()) return false;
  out->clear();
  for (const Const &item : value.items) {
    if (!item.is_int()) return false;
    out->push_back(item.i);
  }
  return true;
}

namespace {

std::string join(const Const &value, size_t from, size_t step) {
  std::string out;
  for (size_t i = from; i < value.items.size(); i += step) {
    if (i) out += ", ";
    out += to_string(value.items[i]);
  }
  return out;
}

std::string tensor_text(const Const &value) {
  const Tensor &t = value.tensor;
  std::string out = std::string("<") + dtype_name(t.dtype()) + "[";
  for (int64_t i = 0; i < t.dim(); i++) out += (i ? ", " : "") + std::to_string(t.size(i));
  out += "]";
  if (value.kind == RUSH_CONST_RANDOM) {
    out += " random " + std::to_string(value.i);
  } else if (t.dim() == 0 && t.is_strided() && !t.is_complex()) {
    out += " = " +
           to_string(t.is_floating_point() ? const_float(t.item()) : const_int(t.ints().at(0)));
  }
  if (!value.s.empty()) out += " " + to_string(const_str(value.s));
  return out + ">";
}

std::string float_text(double f) {
  if (std::isnan(f)) return "nan";
  if (std::isinf(f)) return f < 0 ? "-inf" : "inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", f);
  for (int digits = 1; digits < 17; digits++) {  // the shortest text that parses to the same number
    char shorter[40];
    std::snprintf(shorter, sizeof shorter, "%.*g", digits, f);
    if (std::strtod(shorter, nullptr) == f) {
      std::snprintf(text, sizeof text, "%s", shorter);
      break;
    }
  }
  std::string out = text;
  if (out.find_first_of(".e") == std::string::npos) out += ".";
  return out;
}

std::string quoted(const std::string &s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace

std::string to_string(const Const &value) {
  switch (value.kind) {
    case RUSH_CONST_NONE:
      return "None";
    case RUSH_CONST_TENSOR:
    case RUSH_CONST_RANDOM:
      return tensor_text(value);
    case RUSH_CONST_INT:
      return std::to_string(value.i);
    case RUSH_CONST_FLOAT:
      return float_text(value.f);
    case RUSH_CONST_BOOL:
      return value.i ? "True" : "False";
    case RUSH_CONST_COMPLEX:
      return "complex(" + float_text(value.f) + ", " + float_text(value.im) + ")";
    case RUSH_CONST_STR:
      return quoted(value.s);
    case RUSH_CONST_DEVICE:
      return "device(" + quoted(value.s) + ")";
    case RUSH_CONST_LIST: {
      std::string out = "[" + join(value, 0, 1) + "]";
      // The type adds what the items do not tell.
      return value.items.empty() ? out + ":" + to_string(*value.type) : out;
    }
    case RUSH_CONST_TUPLE:
      return "(" + join(value, 0, 1) + (value.items.size() == 1 ? ",)" : ")");
    case RUSH_CONST_DICT: {
      std::string out;
      for (size_t i = 0; i + 1 < value.items.size(); i += 2)
        out += (i ? ", " : "") + to_string(value.items[i]) + ": " + to_string(value.items[i + 1]);
      out = "{" + out + "}";
      return value.items.empty() ? out + ":" + to_string(*value.type) : out;
    }
    case RUSH_CONST_OBJECT:
      return value.type->name + "(" + join(value, 0, 1) + ")";
    case RUSH_CONST_ENUM:
      return value.items.at(0).s;
  }
  return "?";
}

}  // namespace rush
