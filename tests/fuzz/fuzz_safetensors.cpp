// Loads the bytes as a file, writes its weights as .safetensors, and reads that again.
#include <stdexcept>

#include "fuzz.h"
#include "inspect/safetensors.h"
#include "mutate.h"

namespace {

constexpr size_t kMost = 1 << 20;  // total size of all tensors

// Returns the text between `before` and the next `after`, starting at *at, and advances *at.
std::string next_between(const std::string &text, const char *before, char after, size_t *at) {
  const size_t from = text.find(before, *at);
  if (from == std::string::npos) return "";
  *at = from + strlen(before);
  return text.substr(*at, text.find(after, *at) - *at);
}

// Names have escaped quotes, so no name contains the searched patterns.
void check(const std::vector<std::string> &pieces) {
  const std::string header = pieces[0].substr(8);
  uint64_t said = 0;
  for (size_t i = 8; i-- > 0;) said = said << 8 | static_cast<uint8_t>(pieces[0][i]);
  FUZZ_RULE(said == header.size() && said % 8 == 0, "the header has another size");
  FUZZ_RULE(fuzz_is_utf8(header.data(), header.size()), "the header is not UTF-8");
  FUZZ_RULE(fuzz_is_json(header.data(), header.size()), "the header is not JSON");
  size_t at = 0, offset = 0;
  for (size_t k = 1; k < pieces.size(); k++) {
    const std::string range = next_between(header, "\"data_offsets\":[", ']', &at);
    const std::string want =
        std::to_string(offset) + "," + std::to_string(offset + pieces[k].size());
    FUZZ_RULE(range == want, "tensor %zu lies at %s, not at %s", k, range.c_str(), want.c_str());
    offset += pieces[k].size();
  }
  FUZZ_RULE(offset <= kMost, "%zu bytes are written", offset);
  FUZZ_RULE(next_between(header, "\"data_offsets\":[", ']', &at).empty(), "a tensor is missing");
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory = {};
  memory.limit = FUZZ_LOAD_BYTES;
  rush_ctx *ctx = fuzz_open(&memory);
  rush_model *model;
  if (rush_model_load(ctx, data, size, &model) == RUSH_OK) {
    try {
      check(rush::safetensors_of(ctx, model, {reinterpret_cast<const char *>(data), size}, kMost));
    } catch (const std::invalid_argument &e) {
      FUZZ_RULE(fuzz_is_utf8(e.what(), strlen(e.what())), "a message is not UTF-8");
    }
  }
  rush_model_destroy(ctx, model);
  fuzz_close(ctx, &memory);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  return mutate_file(data, size, max_size, seed);
}
