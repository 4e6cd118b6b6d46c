// Values as JSON.
#pragma once

#include <string>
#include <string_view>

#include "rushlight/verdict.h"

namespace rush {

bool is_utf8(std::string_view text);
// As Python shows bytes, but with the characters that are UTF-8: "é\xc3".
std::string bytes_text(std::string_view text);
std::string json_text(std::string_view text);        // with quotes; invalid UTF-8 becomes U+FFFD
std::string json_number(double x);                   // null unless it is finite
std::string json_of(const rush_distance &distance);  // {"max": 1e-05, "l2": 2e-06}

}  // namespace rush
