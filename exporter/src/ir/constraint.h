// A constraint on a size of an input of a method, as rush_file_constraint.
#pragma once

#include <cstdint>
#include <string>

namespace rush {

struct Constraint {
  size_t method = 0;
  size_t input;
  int64_t dim;
  std::string name;  // sizes of one name are equal; "" if it has none
  int64_t min = 0, max = INT64_MAX;
  bool varies = true;   // the export also tries other sizes
  bool inside = false;  // of a tensor in a list or dict; it is not in the file
  size_t leaf = 0;      // which tensor of the input
  std::string root;     // the size that it is a multiple of, or ""; that may be no input's
  int64_t factor = 1;   // the multiple
  bool checked = true;  // the program itself refuses other sizes
};

}  // namespace rush
