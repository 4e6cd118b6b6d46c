// Reads the bytes as the header of a .npy file. The array that it describes must be in the file.
#include <stdexcept>

#include "base/npy.h"
#include "fuzz.h"

namespace {

constexpr size_t kStart = 10;  // offset of the text in format 1
const volatile uint8_t *sink;

void check(const rush::NpyHeader &h, const uint8_t *data, size_t size) {
  FUZZ_RULE(h.sizes.size() <= 64, "%zu dimensions", h.sizes.size());
  size_t most = 1;
  bool empty = false;
  for (const int64_t n : h.sizes) {
    FUZZ_RULE(n >= 0, "a size is negative");
    empty |= n == 0;
    FUZZ_RULE(!__builtin_mul_overflow(most, n ? n : 1, &most) && most <= PTRDIFF_MAX,
              "a shape cannot be addressed");
  }
  FUZZ_RULE(empty ? h.bytes == 0 : h.bytes / most <= 16 && h.bytes % most == 0,
            "%zu bytes do not fit the shape", h.bytes);
  FUZZ_RULE(h.start <= size && h.bytes <= size - h.start, "elements lie outside the file");
  for (size_t i = 0; i < h.bytes; i++) sink = data + h.start + i, (void)*sink;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    check(rush::parse_npy_header({reinterpret_cast<const char *>(data), size}), data, size);
  } catch (const std::invalid_argument &e) {
    FUZZ_RULE(*e.what() && fuzz_is_utf8(e.what(), strlen(e.what())), "no message in UTF-8");
  }
  return 0;
}

// Most mutations restore magic and length, because the text is the difficult part.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 == 0 || size < kStart) return size;
  memcpy(data, magic, sizeof magic);
  const void *line = memchr(data + kStart, '\n', size - kStart);
  const size_t end =
      line ? static_cast<size_t>(static_cast<const uint8_t *>(line) - data) + 1 : size;
  const size_t length = end - kStart > 0xFFFF ? 0xFFFF : end - kStart;
  data[8] = static_cast<uint8_t>(length);
  data[9] = static_cast<uint8_t>(length >> 8);
  return size;
}
