// The names of inputs and outputs.
#pragma once

#include "export/options.h"

namespace rush {

// A trace may give two inputs one name, and a value by name must be for one of them: the later ones
// get a number, x, x_1, x_2.
std::vector<std::string> unique_names(std::vector<std::string> names);

// Gives ports names of their own, and those that the options ask for. Throws std::invalid_argument.
void name_ports(Program &program, const ExportOptions &options);

// "x: float32[1, ?]".
std::string to_string(const Port &port);

}  // namespace rush
