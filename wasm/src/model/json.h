/* Writes JSON about a model. Commas are inserted automatically:
 *
 *   rush_json j = {&text, model, false};
 *   rush_json_open(&j, '{');
 *   rush_json_key(&j, "name");
 *   rush_json_string(&j, record->name);
 *   rush_json_close(&j, '}'); */
#ifndef RUSH_JSON_H
#define RUSH_JSON_H

#include "model/model.h"

typedef struct rush_json {
  rush_text *text;
  const rush_model *m;
  bool comma; /* whether a comma precedes the next item */
} rush_json;

/* Returns false once the text has failed, so that loops over the file's records can end. */
static inline bool rush_json_ok(const rush_json *j) {
  return !j->text->failed;
}
/* Write '{' or '[', and its closing bracket. */
void rush_json_open(rush_json *j, char bracket);
void rush_json_close(rush_json *j, char bracket);
/* Writes a key. A value must follow. */
void rush_json_key(rush_json *j, const char *key);
/* Writes a key that is a string of the file. */
void rush_json_key_of(rush_json *j, uint32_t string);

/* Writes a value in JSON syntax: a number, true or null. */
void rush_json_value(rush_json *j, const char *fmt, ...) RUSH_PRINTF(2, 3);
void rush_json_text(rush_json *j, const char *text);
/* Writes a string of the file, or "" for RUSH_NONE. */
void rush_json_string(rush_json *j, uint32_t string);
/* Write a key and its value. */
void rush_json_number_at(rush_json *j, const char *key, uint64_t value);
void rush_json_text_at(rush_json *j, const char *key, const char *text);
void rush_json_string_at(rush_json *j, const char *key, uint32_t string);
void rush_json_type_at(rush_json *j, const char *key, uint32_t type);

void rush_json_sizes(rush_json *j, int rank, const int64_t *sizes); /* null if negative */

#endif
