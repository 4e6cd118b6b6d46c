// rushlight._C.Session: a file that runs in Python.
#pragma once

#include "python/values.h"

namespace rush {

void define_session(py::module_ &module);

}  // namespace rush
