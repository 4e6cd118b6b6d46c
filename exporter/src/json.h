// Reports as JSON.
#pragma once

#include <string>

#include "rushlight/verdict.h"

namespace rush {

std::string json_text(const std::string &text);      // with its quotes
std::string json_number(double x);                   // null for what is not finite
std::string json_of(const rush_distance &distance);  // {"max": 1e-05, "l2": 2e-06}

}  // namespace rush
