// The functions that Python calls by name.
#pragma once

#include <map>
#include <string>

#include "api/json.h"

namespace rush {

using Function = std::string (*)(const Json &request);  // returns the JSON of its result
using Functions = std::map<std::string, Function>;

Functions session_functions();
Functions file_functions();
Functions schema_functions();
Functions graph_functions();
Functions export_functions();
Functions tool_functions();

}  // namespace rush
