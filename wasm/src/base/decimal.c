#include "base/decimal.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* More digits than DIGITS never change the rounding, except that it must be known whether any of
 * them is nonzero. With this many digits, an exponent outside [MIN_EXPONENT,
 * MAX_EXPONENT] means infinity or 0. */
enum { DIGITS = 780, MAX_EXPONENT = 400, MIN_EXPONENT = -1200, LIMBS = 136 };

/* A natural number below 2^(32 LIMBS). This holds 10^(DIGITS + MAX_EXPONENT) and 10^-MIN_EXPONENT
 * with 64 bits to spare. */
typedef struct big {
  int n; /* number of limbs in use */
  uint32_t limb[LIMBS];
} big;

static void times(big *b, uint32_t by, uint32_t plus) {
  uint64_t carry = plus;
  for (int i = 0; i < b->n; i++) {
    carry += (uint64_t)b->limb[i] * by;
    b->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry) b->limb[b->n++] = (uint32_t)carry;
}

static int bits(const big *b) {
  return b->n ? 32 * b->n - __builtin_clz(b->limb[b->n - 1]) : 0;
}

static void shift_left(big *b, int by) {
  for (; by >= 16; by -= 16) times(b, 1u << 16, 0);
  times(b, 1u << by, 0);
}

static bool less(const big *a, const big *b) {
  if (a->n != b->n) return a->n < b->n;
  for (int i = a->n; i-- > 0;)
    if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i];
  return false;
}

static void subtract(big *a, const big *b) {
  int64_t carry = 0;
  for (int i = 0; i < a->n; i++) {
    carry += (int64_t)a->limb[i] - (i < b->n ? b->limb[i] : 0);
    a->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  while (a->n && !a->limb[a->n - 1]) a->n--;
}

/* Rounds q * 2^-shift, or slightly more if `sticky`, to the nearest double. q has 63 or 64 bits. */
static double nearest(uint64_t q, int shift, bool sticky) {
  /* The last place of the result is 2^unit, and `drop` bits of q are below it. */
  int unit = 63 - __builtin_clzll(q) - shift - 52;
  if (unit < -1074) unit = -1074;
  int drop = unit + shift;
  for (; drop > 63; drop--) {
    sticky |= (q & 1) != 0;
    q >>= 1;
  }
  uint64_t m = q >> drop, rest = q & ((1ull << drop) - 1), half = 1ull << (drop - 1);
  if (rest > half || (rest == half && (sticky || (m & 1)))) m++;
  return ldexp((double)m, unit);
}

/* Rounds top * 10^ten to the nearest double. */
static double value_of(big *top, int ten) {
  big below = {1, {1}};
  for (; ten > 0; ten--) times(top, 10, 0);
  for (; ten < 0; ten++) times(&below, 10, 0);
  /* Scales both to the same number of bits, so that 1/2 < top / below < 2. The number is then q *
   * 2^-shift plus a remainder, with a q of 63 or 64 bits. */
  int more = bits(top) - bits(&below), shift = 63 - more;
  shift_left(more < 0 ? top : &below, more < 0 ? -more : more);
  uint64_t q = 0;
  for (int i = 0; i < 64; i++) {
    if (i) times(top, 2, 0);
    q <<= 1;
    if (less(top, &below)) continue;
    subtract(top, &below);
    q |= 1;
  }
  return nearest(q, shift, top->n > 0);
}

static const char *read_word(const char *at, const char *word) {
  size_t n = strlen(word);
  return strncmp(at, word, n) == 0 ? at + n : NULL;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Returns the end of the exponent, or `at` if there is none. `letter` is in lower case. */
static const char *read_exponent(const char *at, char letter, int64_t *ten) {
  if ((*at | 0x20) != letter) return at;
  const char *p = at + 1;
  bool negative = *p == '-';
  if (*p == '-' || *p == '+') p++;
  if (!is_digit(*p)) return at;
  int64_t e = 0;
  for (; is_digit(*p); p++)
    if (e < 1000000) e = 10 * e + (*p - '0');
  *ten += negative ? -e : e;
  return p;
}

const char *rush_parse_decimal(const char *text, double *out) {
  const char *at = text, *word;
  double sign = *at == '-' ? -1 : 1;
  if (*at == '-' || *at == '+') at++;
  if ((word = read_word(at, "inf")) != NULL) return *out = sign * INFINITY, word;
  if ((word = read_word(at, "nan")) != NULL) return *out = NAN, word;
  big digits = {0};
  int n = 0; /* number of digits in it, from the first nonzero one */
  int64_t ten = 0;
  bool any = false, point = false, more = false;
  for (; is_digit(*at) || (*at == '.' && !point); at++) {
    if (*at == '.') {
      point = true;
      continue;
    }
    any = true;
    if (n < DIGITS) {
      times(&digits, 10, (uint32_t)(*at - '0'));
      n += digits.n > 0;
      ten -= point;
    } else {
      more |= *at != '0';
      ten += !point;
    }
  }
  if (!any) return text;
  at = read_exponent(at, 'e', &ten);
  if (more) times(&digits, 10, 1), ten--;
  double size = digits.n == 0 || ten < MIN_EXPONENT ? 0
                : ten > MAX_EXPONENT                ? INFINITY
                                                    : value_of(&digits, (int)ten);
  *out = sign * size;
  return at;
}

static int hex_digit(char c) {
  char low = (char)(c | 0x20);
  return is_digit(c) ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Parses the digits after "0x". Returns `at` if there are none. */
static const char *read_hex(const char *at, double *out) {
  const char *begin = at;
  uint64_t q = 0;
  int64_t two = 0;
  bool any = false, point = false, sticky = false;
  for (; hex_digit(*at) >= 0 || (*at == '.' && !point); at++) {
    if (*at == '.') {
      point = true;
      continue;
    }
    any = true;
    if (q >> 60) {
      sticky |= *at != '0';
      two += !point ? 4 : 0;
    } else {
      q = q << 4 | (uint64_t)hex_digit(*at);
      two -= point ? 4 : 0;
    }
  }
  if (!any) return begin;
  at = read_exponent(at, 'p', &two);
  if (q) {
    int up = __builtin_clzll(q);
    q <<= up;
    two -= up;
  }
  *out = q == 0 || two < -1200 ? 0 : two > 1100 ? INFINITY : nearest(q, (int)-two, sticky);
  return at;
}

/* Matches a word without regard to case. */
static const char *read_any_case(const char *at, const char *word) {
  for (; *word; word++, at++)
    if ((*at | 0x20) != *word) return NULL;
  return at;
}

/* Skips what a C library may add to "nan" in parentheses. */
static const char *skip_payload(const char *at) {
  const char *p = at;
  if (*p != '(') return at;
  do p++;
  while (is_digit(*p) || *p == '_' || ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z'));
  return *p == ')' ? p + 1 : at;
}

/* Parses a number without a sign. Returns NULL if there is none. */
static const char *read_size(const char *at, double *out) {
  const char *end;
  if ((end = read_any_case(at, "infinity")) != NULL || (end = read_any_case(at, "inf")) != NULL)
    return *out = INFINITY, end;
  if ((end = read_any_case(at, "nan")) != NULL) return *out = NAN, skip_payload(end);
  if (*at == '0' && (at[1] | 0x20) == 'x' && (end = read_hex(at + 2, out)) != at + 2) return end;
  if (!is_digit(*at) && *at != '.') return NULL;
  end = rush_parse_decimal(at, out);
  return end == at ? NULL : end;
}

const char *rush_parse_real(const char *text, double *out) {
  const char *at = text;
  while (*at == ' ' || (*at >= '\t' && *at <= '\r')) at++;
  double sign = *at == '-' ? -1 : 1;
  if (*at == '-' || *at == '+') at++;
  const char *end = read_size(at, out);
  if (!end) return text;
  *out *= sign;
  return end;
}
