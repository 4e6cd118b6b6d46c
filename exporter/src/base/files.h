// Files, and the paths of them that a model may show.
#pragma once

#include <fstream>
#include <string>

namespace rush {

// These throw RuntimeError if the path is not that of a file.
std::ifstream open_file(const std::string &path);
std::string read_file(const std::string &path);

// A source's path as it may be stored and shown: relative to the working directory, from the
// package's name on, or the file's name alone.
std::string stored_path(const std::string &file);
// Whether a source is torch's own, or replaces some of it (rushlight/front), so that the line that called it
// is the model's.
bool is_torchs_own(const std::string &file);

}  // namespace rush
