// The names of inputs and outputs.
#pragma once

#include "export/options.h"

namespace rush {

// Returns the index of a method; "" means the first one. Throws std::invalid_argument if there is
// none of this name.
size_t index_of(const Program &program, const std::string &method);

// Makes names unique, because a trace may give two inputs the same name. Later ones get a number:
// x, x_1, x_2.
std::vector<std::string> unique_names(std::vector<std::string> names);

// Gives ports the names of the options, and makes all names unique. Throws std::invalid_argument if
// there are too many names or a name twice.
void name_ports(Program &program, const ExportOptions &options);

// Returns a text such as "x: float32[1, ?]".
std::string to_string(const Port &port);

}  // namespace rush
