#include "base/runtime_error.h"

#include <cstdio>

namespace rush {

RuntimeError::RuntimeError(rush_status s, const rush_ctx *ctx)
    : std::runtime_error(rush_ctx_error(ctx)), status(s) {
  rush_location at;
  if (!rush_ctx_location(ctx, &at)) return;
  op = at.op;
  if (*at.file) source = std::string(at.file) + ":" + std::to_string(at.line);
}

namespace {

// Returns whether a terminal or an editor obeys the character: controls, and marks of lines and of
// writing directions.
bool is_control_or_bidi(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// Returns the character at `at`, of up to three bytes of UTF-8, and its number of bytes.
uint32_t character(const std::string &text, size_t at, size_t *bytes) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const uint32_t first = byte(at);
  *bytes = first >> 5 == 0x06 ? 2 : first >> 4 == 0x0E ? 3 : 1;
  for (size_t i = 1; i < *bytes; i++)
    if (byte(at + i) >> 6 != 2) *bytes = 1;
  if (*bytes == 2) return (first & 0x1F) << 6 | (byte(at + 1) & 0x3F);
  if (*bytes == 3) return (first & 0x0F) << 12 | (byte(at + 1) & 0x3F) << 6 | (byte(at + 2) & 0x3F);
  return first < 0x80 ? first : UINT32_MAX;
}

}  // namespace

std::string printable(const std::string &text, const std::string &kept) {
  std::string out;
  for (size_t at = 0, bytes = 0; at < text.size(); at += bytes) {
    const uint32_t c = character(text, at, &bytes);
    char escaped[8];
    if (!is_control_or_bidi(c) || (bytes == 1 && kept.find(text[at]) != std::string::npos)) {
      out.append(text, at, bytes);
    } else {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    }
  }
  return out;
}

}  // namespace rush
