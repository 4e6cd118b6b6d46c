#include "run/typed.h"

#include <utility>

namespace rush {

Const float_of_int(Const c, int kind) {
  return kind == RUSH_TYPE_FLOAT && c.is_int() ? const_float(c.number()) : c;
}

Const as_argument(Const c, int kind) {
  const bool one = c.is_tensor() && c.tensor.numel() == 1;
  if (kind == RUSH_TYPE_FLOAT && one) return const_float(c.tensor.item());
  if (kind == RUSH_TYPE_INT && one) return const_int(c.tensor.ints().at(0));
  if (kind == RUSH_TYPE_BOOL && one) return const_bool(c.tensor.item() != 0);
  if (kind == RUSH_TYPE_FLOAT && c.is_number()) return const_float(c.number());
  if (kind == RUSH_TYPE_INT && c.is_bool()) return const_int(c.i);
  if (kind == RUSH_TYPE_BOOL && c.is_number()) return const_bool(c.number() != 0);
  if (kind == RUSH_TYPE_COMPLEX && c.is_number()) {
    c.f = c.number();
    c.kind = RUSH_CONST_COMPLEX;
    c.im = 0;
  }
  return c;
}

Const typed(Const c, const TypeRef &type, Cast cast) {
  switch (type->kind) {
    case RUSH_TYPE_OPTIONAL:
      return c.is_none() ? c : typed(std::move(c), type->items[0], cast);
    case RUSH_TYPE_UNION:
      for (const TypeRef &member : type->items) {
        Const as_member = typed(c, member, cast);
        if (as_member.type == member && as_member.kind == c.kind) return as_member;
      }
      return c;
    case RUSH_TYPE_LIST:
      if (!c.is_list() && c.kind != RUSH_CONST_TUPLE) return c;
      c.kind = RUSH_CONST_LIST;
      for (Const &item : c.items) item = typed(std::move(item), type->items[0], cast);
      break;
    case RUSH_TYPE_TUPLE:
      if ((!c.is_list() && c.kind != RUSH_CONST_TUPLE) || c.items.size() != type->items.size())
        return c;
      c.kind = RUSH_CONST_TUPLE;
      for (size_t i = 0; i < c.items.size(); i++)
        c.items[i] = typed(std::move(c.items[i]), type->items[i], cast);
      break;
    case RUSH_TYPE_DICT:
      if (c.kind != RUSH_CONST_DICT) return c;
      for (size_t i = 0; i < c.items.size(); i++)
        c.items[i] = typed(std::move(c.items[i]), type->items[i % 2], cast);
      break;
    default:
      return cast(std::move(c), type->kind);
  }
  c.type = type;
  return c;
}

}  // namespace rush
