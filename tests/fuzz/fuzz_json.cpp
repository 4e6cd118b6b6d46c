// Writes the bytes as a JSON string, and eight of them as a number. Both must be valid JSON with
// the same content, and the string must be UTF-8. (fuzz_load checks the JSON of the runtime.)
#include <cmath>

#include "base/json.h"
#include "fuzz.h"

namespace {

// Decodes a JSON string that json_text has written.
std::string meaning(const std::string &json) {
  std::string out;
  for (size_t i = 1; i + 1 < json.size(); i++) {
    if (json[i] != '\\') {
      out += json[i];
    } else if (json[++i] == 'u') {
      out += static_cast<char>(strtol(json.substr(i + 1, 4).c_str(), nullptr, 16));
      i += 4;
    } else {
      out += json[i];
    }
  }
  return out;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  const std::string json = rush::json_text(text);
  FUZZ_RULE(fuzz_is_utf8(json.data(), json.size()), "a text is not UTF-8");
  FUZZ_RULE(fuzz_is_json(json.data(), json.size()), "a text is not JSON");
  if (fuzz_is_utf8(text.data(), size))
    FUZZ_RULE(meaning(json) == text, "a text says something else: %s", json.c_str());
  double x = 0;
  memcpy(&x, data, size < sizeof x ? size : sizeof x);
  const std::string number = rush::json_number(x);
  FUZZ_RULE(fuzz_is_json(number.data(), number.size()), "%s is not a number", number.c_str());
  FUZZ_RULE(std::isfinite(x) ? strtod(number.c_str(), nullptr) == x : number == "null",
            "%s is another number", number.c_str());
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  (void)seed;
  return LLVMFuzzerMutate(data, size, max_size);
}
