#include "base/utf8.h"

size_t rush_utf8_size(const char *bytes, size_t n) {
  const unsigned char *s = (const unsigned char *)bytes, c = *s;
  size_t width = c < 0x80                ? 1
                 : c >= 0xC2 && c < 0xE0 ? 2
                 : c >= 0xE0 && c < 0xF0 ? 3
                 : c >= 0xF0 && c < 0xF5 ? 4
                                         : 0;
  if (n < width) return 0;
  for (size_t k = 1; k < width; k++) {
    if ((s[k] & 0xC0) != 0x80) return 0;
  }
  /* Refuses overlong forms, surrogates, and code points beyond U+10FFFF. */
  if ((c == 0xE0 && s[1] < 0xA0) || (c == 0xED && s[1] > 0x9F) || (c == 0xF0 && s[1] < 0x90) ||
      (c == 0xF4 && s[1] > 0x8F))
    return 0;
  return width;
}
