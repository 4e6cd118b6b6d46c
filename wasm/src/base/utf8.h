#ifndef RUSH_UTF8_H
#define RUSH_UTF8_H

#include <stddef.h>

/* Returns the size of the character at the start of `n` > 0 bytes, or 0 if it is not UTF-8. */
size_t rush_utf8_size(const char *bytes, size_t n);

#endif
