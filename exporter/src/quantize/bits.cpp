#include "quantize/bits.h"

#include <stdexcept>

namespace rush {

namespace {

constexpr int64_t kGroup = 32;  // the default for four bits

[[noreturn]] void refuse(const std::string &name) {
  throw std::invalid_argument(
      "quantize must be 'int8', 'int8-static', 'int8-weights', 'int4', 'int4-weights' (in groups "
      "of "
      "32; also 'int4:64' or 'int4:128', each also with ':zero-points' or ':minima') or 'float16', "
      "got '" +
      name + "'");
}

const char *suffix_of(Bits::Offsets offsets) {
  return offsets == Bits::ZERO_POINTS ? ":zero-points" : offsets == Bits::MINIMA ? ":minima" : "";
}

Bits parse_plain_bits(const std::string &name) {
  if (name.empty()) return {};
  if (name == "int8") return {name, Bits::INT8};
  if (name == "int8-static") return {name, Bits::INT8_STATIC};
  if (name == "int8-weights") return {name, Bits::INT8_WEIGHTS};
  if (name == "float16") return {name, Bits::FLOAT16};
  for (const Bits::Kind kind : {Bits::INT4, Bits::INT4_WEIGHTS})
    for (const int64_t group : {int64_t{0}, int64_t{32}, int64_t{64}, int64_t{128}})
      for (const Bits::Offsets offsets : {Bits::NO_OFFSETS, Bits::ZERO_POINTS, Bits::MINIMA})
        if (name == std::string(kind == Bits::INT4 ? "int4" : "int4-weights") +
                        (group ? ":" + std::to_string(group) : "") + suffix_of(offsets))
          return {name, kind, group ? group : kGroup, offsets};
  refuse(name);
}

// Returns whether the pattern from p matches the whole text from t.
bool matches(const char *p, const char *t) {
  for (; *p && *p != '*'; p++, t++)
    if (!*t || (*p != '?' && *p != *t)) return false;
  if (!*p) return !*t;
  while (p[1] == '*') p++;
  for (;; t++) {
    if (matches(p + 1, t)) return true;
    if (!*t) return false;
  }
}

}  // namespace

Bits bits_from_name(const std::string &name) {
  if (name.find('=') == std::string::npos) return parse_plain_bits(name);
  Bits out;
  out.name = name;
  out.kind = Bits::BY_LAYER;
  for (size_t from = 0; from <= name.size();) {
    const size_t end = std::min(name.find(',', from), name.size());
    const std::string rule = name.substr(from, end - from);
    const size_t at = rule.find('=');
    if (at == std::string::npos || at == 0)
      throw std::invalid_argument("quantize must give each layer as PATTERN=BITS, got '" + rule +
                                  "'");
    out.patterns.push_back(rule.substr(0, at));
    out.of.push_back(parse_plain_bits(rule.substr(at + 1)));
    if (out.of.back().kind == Bits::INT8_STATIC)
      throw std::invalid_argument(
          "quantize must give all layers 'int8-static', or none: it calibrates the layers "
          "together");
    from = end + 1;
  }
  return out;
}

size_t pattern_of(const Bits &bits, const std::string &path) {
  size_t i = 0;
  while (i < bits.patterns.size() && !matches(bits.patterns[i].c_str(), path.c_str())) i++;
  return i;
}

}  // namespace rush
