#include "model/json.h"

#include <stdarg.h>
#include <stdio.h>

#include "model/print.h"

static void comma(rush_json *j) {
  if (j->comma) rush_text_bytes(j->text, ",", 1);
  j->comma = true;
}

void rush_json_open(rush_json *j, char bracket) {
  comma(j);
  rush_text_bytes(j->text, &bracket, 1);
  j->comma = false;
}

void rush_json_close(rush_json *j, char bracket) {
  rush_text_bytes(j->text, &bracket, 1);
  j->comma = true;
}

void rush_json_key(rush_json *j, const char *key) {
  rush_json_text(j, key);
  rush_text_bytes(j->text, ":", 1);
  j->comma = false;
}

void rush_json_key_of(rush_json *j, uint32_t string) {
  rush_json_key(j, rush_string(j->m, string));
}

void rush_json_value(rush_json *j, const char *fmt, ...) {
  char text[64];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  comma(j);
  rush_text_bytes(j->text, text, strlen(text));
}

void rush_json_text(rush_json *j, const char *text) {
  comma(j);
  rush_text_json(j->text, text, strlen(text));
}

void rush_json_string(rush_json *j, uint32_t string) {
  rush_json_text(j, rush_string(j->m, string));
}

void rush_json_type_at(rush_json *j, const char *key, uint32_t type) {
  rush_text *t = j->text, plain = {.ctx = t->ctx};
  rush_json_key(j, key);
  rush_print_type(&plain, j->m, type);
  if (plain.failed) {
    rush_text_fail(t, plain.why);
  } else {
    comma(j);
    rush_text_json(t, plain.data, plain.size);
  }
  rush_release(t->ctx, plain.data, plain.capacity);
}

void rush_json_number_at(rush_json *j, const char *key, uint64_t value) {
  rush_json_key(j, key);
  rush_json_value(j, "%llu", (unsigned long long)value);
}

void rush_json_text_at(rush_json *j, const char *key, const char *text) {
  rush_json_key(j, key);
  rush_json_text(j, text);
}

void rush_json_string_at(rush_json *j, const char *key, uint32_t string) {
  rush_json_text_at(j, key, rush_string(j->m, string));
}

void rush_json_sizes(rush_json *j, int rank, const int64_t *sizes) {
  rush_json_open(j, '[');
  for (int d = 0; d < rank; d++) {
    if (sizes[d] < 0) {
      rush_json_value(j, "null");
    } else {
      rush_json_value(j, "%lld", (long long)sizes[d]);
    }
  }
  rush_json_close(j, ']');
}
