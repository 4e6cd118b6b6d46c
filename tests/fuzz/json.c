/* Checks a text against the grammar of JSON (RFC 8259). */
#include "fuzz.h"

typedef struct json {
  const char *at, *end;
} json;

static void spaces(json *j) {
  while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\r' || *j->at == '\t'))
    j->at++;
}

static bool accept(json *j, char c) {
  spaces(j);
  if (j->at == j->end || *j->at != c) return false;
  j->at++;
  return true;
}

static bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Parses an escape after its backslash. */
static bool escape(json *j) {
  if (j->at == j->end || !strchr("\"\\/bfnrtu", *j->at) || !*j->at) return false;
  if (*j->at++ != 'u') return true;
  for (int k = 0; k < 4; k++) {
    if (j->at == j->end || !is_hex(*j->at++)) return false;
  }
  return true;
}

static bool string(json *j) {
  if (!accept(j, '"')) return false;
  while (j->at < j->end && *j->at != '"') {
    if ((uint8_t)*j->at < 0x20) return false;
    if (*j->at++ == '\\' && !escape(j)) return false;
  }
  return accept(j, '"');
}

static bool digits(json *j) {
  const char *from = j->at;
  while (j->at < j->end && *j->at >= '0' && *j->at <= '9') j->at++;
  return j->at > from;
}

static bool number(json *j) {
  if (j->at < j->end && *j->at == '-') j->at++;
  bool zero = j->at < j->end && *j->at == '0';
  const char *from = j->at;
  if (!digits(j) || (zero && j->at > from + 1)) return false;
  if (j->at < j->end && *j->at == '.' && (j->at++, !digits(j))) return false;
  if (j->at == j->end || (*j->at != 'e' && *j->at != 'E')) return true;
  j->at++;
  if (j->at < j->end && (*j->at == '+' || *j->at == '-')) j->at++;
  return digits(j);
}

static bool word(json *j, const char *text) {
  size_t n = strlen(text);
  if ((size_t)(j->end - j->at) < n || memcmp(j->at, text, n) != 0) return false;
  j->at += n;
  return true;
}

static bool value(json *j, int levels);

static bool members(json *j, int levels, bool named, char close) {
  if (accept(j, close)) return true;
  do {
    if (named && !(string(j) && accept(j, ':'))) return false;
    if (!value(j, levels - 1)) return false;
  } while (accept(j, ','));
  return accept(j, close);
}

static bool value(json *j, int levels) {
  spaces(j);
  if (j->at == j->end || levels == 0) return false;
  switch (*j->at) {
    case '{':
      j->at++;
      return members(j, levels, true, '}');
    case '[':
      j->at++;
      return members(j, levels, false, ']');
    case '"':
      return string(j);
    case 't':
      return word(j, "true");
    case 'f':
      return word(j, "false");
    case 'n':
      return word(j, "null");
    default:
      return number(j);
  }
}

bool fuzz_is_json(const char *text, size_t n) {
  json j = {text, text + n};
  if (!value(&j, 1000)) return false;
  spaces(&j);
  return j.at == j.end;
}
