// Converts Python's values to constants, and back.
#pragma once

#include <torch/csrc/jit/python/pybind_utils.h>

#include "ir/const.h"

namespace rush {

namespace py = pybind11;

// Throws TypeError for values that no model can take.
Const from_python(py::handle value);
py::object to_python(const Const &value);

// Replaces enums and objects by the named tuples of the type: an enum by its name and value, an object
// by its attributes.
py::object as_tuples(py::handle value, const Type &type);

// The type, in which named tuples with names that Python does not allow are plain tuples.
TypeRef with_names_of_python(const TypeRef &type);

// Casts a single value to a type of this kind.
using Cast = Const (*)(Const, int kind);
// Casts an int to a float.
Const float_of_int(Const c, int kind);
// Casts as PyTorch does for an argument (toIValue): it also takes a bool for a number, a number for a
// bool, and a tensor of one element for either.
Const as_argument(Const c, int kind);

// Gives lists the item type of the type, and casts single values.
Const typed(Const c, const TypeRef &type, Cast cast = float_of_int);

}  // namespace rush
