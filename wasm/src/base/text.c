#include <stdarg.h>
#include <stdio.h>

#include "base/base.h"

static bool fail(rush_text *t, rush_status why) {
  rush_text_fail(t, why);
  return false;
}

static bool reserve(rush_text *t, size_t more) {
  if (t->failed) return false;
  rush_status st = rush_charge(t->ctx, more + 1);
  if (st != RUSH_OK) return fail(t, st);
  size_t need = t->size + more + 1, capacity = t->capacity ? t->capacity : 256;
  if (need <= t->capacity) return true;
  if (need < t->size || need > RUSH_MAX_TEXT)
    return fail(t, rush_fail_memory(t->ctx, need < t->size ? SIZE_MAX : need));
  while (capacity < need) capacity = capacity <= SIZE_MAX / 2 ? capacity * 2 : need;
  st = rush_realloc(t->ctx, (void **)&t->data, t->capacity, capacity);
  if (st != RUSH_OK) return fail(t, st);
  t->capacity = capacity;
  return true;
}

void rush_text_bytes(rush_text *t, const char *bytes, size_t n) {
  if (!reserve(t, n)) return;
  const rush_status st = rush_copy_bytes(t->ctx, t->data + t->size, bytes, n);
  if (st != RUSH_OK) rush_text_fail(t, st);
  t->size += n;
  t->data[t->size] = '\0';
}

void rush_text_add(rush_text *t, const char *fmt, ...) {
  va_list args, again;
  if (t->failed) return;
  va_start(args, fmt);
  va_copy(again, args);
  const size_t room = t->capacity - t->size; /* usually large enough */
  int n = vsnprintf(room ? t->data + t->size : NULL, room, fmt, args);
  va_end(args);
  if (n < 0) rush_text_fail(t, rush_fail_memory(t->ctx, (size_t)1 << 31)); /* longer than an int */
  if (n >= 0 && reserve(t, (size_t)n)) {
    if ((size_t)n >= room) vsnprintf(t->data + t->size, (size_t)n + 1, fmt, again);
    t->size += (size_t)n;
  }
  va_end(again);
}

void rush_text_json(rush_text *t, const char *bytes, size_t n) {
  rush_text_bytes(t, "\"", 1);
  size_t from = 0;
  for (size_t i = 0; i < n; i++) {
    unsigned char ch = (unsigned char)bytes[i];
    if (ch >= 0x20 && ch != '"' && ch != '\\') continue;
    rush_text_bytes(t, bytes + from, i - from);
    from = i + 1;
    if (ch == '\n') {
      rush_text_bytes(t, "\\n", 2);
    } else if (ch < 0x20) {
      rush_text_add(t, "\\u%04x", ch);
    } else {
      rush_text_add(t, "\\%c", ch);
    }
  }
  if (from < n) rush_text_bytes(t, bytes + from, n - from); /* bytes may be NULL if n is 0 */
  rush_text_bytes(t, "\"", 1);
}

rush_status rush_text_take(rush_text *t, char **out, size_t *size) {
  *out = NULL;
  *size = 0;
  if (!reserve(t, 0)) {
    rush_release(t->ctx, t->data, t->capacity);
    const rush_status why = t->why;
    *t = (rush_text){.ctx = t->ctx};
    return why;
  }
  t->data[t->size] = '\0';
  *out = t->data;
  *size = t->capacity;
  *t = (rush_text){.ctx = t->ctx};
  return RUSH_OK;
}
