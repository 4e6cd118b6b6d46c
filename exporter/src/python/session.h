// Binds rushlight._C.Session, which runs a file in Python.
#pragma once

#include "python/values.h"

namespace rush {

void define_session(py::module_ &module);

}  // namespace rush
