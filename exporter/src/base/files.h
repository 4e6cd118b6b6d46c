// Opens files, and shortens the paths that a model stores.
#pragma once

#include <fstream>
#include <string>

namespace rush {

// These functions throw RuntimeError if there is no file at the path.
std::ifstream open_file(const std::string &path);
std::string read_file(const std::string &path);

// Returns the form of a source's path that a file stores: from the name of an installed package on,
// relative to the working directory, or the file's name alone.
std::string stored_path(const std::string &file);
// Returns whether a source belongs to torch or to Rushlight's replacements of it (rushlight/front).
// The line that called it is then the model's.
bool is_torchs_own(const std::string &file);

}  // namespace rush
