#ifndef RUSH_UTF8_H
#define RUSH_UTF8_H

#include <stddef.h>

/* The size of the character that the `n` > 0 bytes begin with; 0 where that is not UTF-8. */
size_t rush_utf8_size(const char *bytes, size_t n);

#endif
