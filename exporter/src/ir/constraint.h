// A constraint on a size of an input of the first method, as rush_file_constraint.
#pragma once

#include <cstdint>
#include <string>

namespace rush {

struct Constraint {
  size_t input;
  int64_t dim;
  std::string name;  // sizes of one name are equal; "": it has none
  int64_t least = 0, most = INT64_MAX;
  bool varies = true;   // the export tries a larger one, too
  bool inside = false;  // of a tensor in a list or dict: tried, and not in the file
  size_t leaf = 0;      // which tensor of the input
  std::string root;    // where it is a multiple of another size: of which, which may be no input's,
  int64_t factor = 1;  // how many times,
  bool checked = true;  // and whether the program itself refuses others
};

}  // namespace rush
