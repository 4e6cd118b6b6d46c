#include "json.h"

#include <cmath>
#include <cstdio>

namespace rush {

std::string json_text(const std::string &text) {
  std::string out = "\"";
  for (const char c : text) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else
      out += static_cast<unsigned char>(c) < 0x20 ? std::string(escaped) : std::string(1, c);
  }
  return out + "\"";
}

std::string json_number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  return std::isfinite(x) ? text : "null";
}

std::string json_of(const rush_distance &d) {
  return "{\"max\": " + json_number(d.max) + ", \"l2\": " + json_number(d.l2) + "}";
}

}  // namespace rush
