// cmake/embed_programs.py makes these rows from operators/*.py.
#pragma once

#include <cstddef>

namespace rush {

struct OperatorProgram {
  const char *name, *source;
};
extern const OperatorProgram kOperatorPrograms[];  // by rising name
extern const size_t kOperatorProgramCount;

}  // namespace rush
