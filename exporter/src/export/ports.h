// The names of inputs and outputs.
#pragma once

#include "export/options.h"

namespace rush {

// Makes names unique, as a trace may give two inputs one name: the later ones get a number, as in
// x, x_1, x_2.
std::vector<std::string> unique_names(std::vector<std::string> names);

// Gives ports unique names, and the names of the options. Throws std::invalid_argument.
void name_ports(Program &program, const ExportOptions &options);

// "x: float32[1, ?]".
std::string to_string(const Port &port);

}  // namespace rush
