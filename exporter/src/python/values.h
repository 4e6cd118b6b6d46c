// Python's values as constants, and back.
#pragma once

#include <torch/csrc/jit/python/pybind_utils.h>

#include "ir/const.h"

namespace rush {

namespace py = pybind11;

// Throws TypeError for what no model can be given.
Const from_python(py::handle value);
py::object to_python(const Const &value);

// The value, where enums and objects are the tuples that a type with named tuples wants: of the
// enum's name and value, of the object's attributes.
py::object as_tuples(py::handle value, const Type &type);

// The type, where named tuples whose names Python cannot have are plain ones.
TypeRef with_names_of_python(const TypeRef &type);

// A single value as a type of this kind has it.
using Cast = Const (*)(Const, int kind);
// An int where a float is wanted.
Const float_of_int(Const c, int kind);
// As PyTorch takes an argument (toIValue): also a bool for a number, a number for a bool, and a
// tensor of one element for either.
Const as_argument(Const c, int kind);

// The value as the type has it: lists get their items' type, single values are cast.
Const typed(Const c, const TypeRef &type, Cast cast = float_of_int);

}  // namespace rush
