// Reports as JSON.
#pragma once

#include <string>
#include <string_view>

#include "rushlight/verdict.h"

namespace rush {

bool is_utf8(std::string_view text);
std::string json_text(std::string_view text);  // with its quotes; U+FFFD for what is not UTF-8
std::string json_number(double x);             // null for what is not finite
std::string json_of(const rush_distance &distance);  // {"max": 1e-05, "l2": 2e-06}

}  // namespace rush
