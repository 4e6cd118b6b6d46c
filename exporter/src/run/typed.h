// Gives values the types that a program or its caller declares.
#pragma once

#include "ir/const.h"

namespace rush {

// Casts a single value to a type of this kind.
using Cast = Const (*)(Const, int kind);
// Casts an int to a float.
Const float_of_int(Const c, int kind);
// Casts as PyTorch does for an argument (toIValue): it also takes a bool for a number, a number
// for a bool, and a tensor of one element for either.
Const as_argument(Const c, int kind);

// Gives lists the item type of the type, and casts single values.
Const typed(Const c, const TypeRef &type, Cast cast = float_of_int);

}  // namespace rush
