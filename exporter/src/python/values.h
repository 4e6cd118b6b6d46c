// Converts Python's values to constants, and back.
#pragma once

#include <torch/csrc/jit/python/pybind_utils.h>

#include "ir/const.h"
#include "run/typed.h"

namespace rush {

namespace py = pybind11;

// Throws TypeError for values that no model can take.
Const from_python(py::handle value);
py::object to_python(const Const &value);

// Replaces enums and objects by the named tuples of the type: an enum by its name and value, an object
// by its attributes.
py::object as_tuples(py::handle value, const Type &type);

}  // namespace rush
