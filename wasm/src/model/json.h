/* JSON about a model. Commas are put where they belong:
 *
 *   rush_json j = {&text, model, false};
 *   rush_json_open(&j, '{');
 *   rush_json_key(&j, "name");
 *   rush_json_string(&j, record->name);
 *   rush_json_close(&j, '}');
 */
#ifndef RUSH_JSON_H
#define RUSH_JSON_H

#include "model/model.h"

typedef struct rush_json {
  rush_text *text;
  const rush_model *m;
  bool comma; /* before what comes next */
} rush_json;

/* False once the text has failed: loops over records of the file end then. */
static inline bool rush_json_ok(const rush_json *j) {
  return !j->text->failed;
}
/* '{' or '[', and its end. */
void rush_json_open(rush_json *j, char bracket);
void rush_json_close(rush_json *j, char bracket);
/* A value follows. */
void rush_json_key(rush_json *j, const char *key);
/* A key that is a string of the file. */
void rush_json_key_of(rush_json *j, uint32_t string);

/* A value as JSON has it: a number, true, null. */
void rush_json_value(rush_json *j, const char *fmt, ...) RUSH_PRINTF(2, 3);
void rush_json_text(rush_json *j, const char *text);
/* A string of the file; "" for RUSH_NONE. */
void rush_json_string(rush_json *j, uint32_t string);
void rush_json_type(rush_json *j, uint32_t type);
void rush_json_sizes(rush_json *j, int rank, const int64_t *sizes); /* null where negative */

#endif
