/* String methods. As in libtorch, a string is a sequence of bytes: len, slices and characters count
 * bytes, and only ASCII letters are letters. Follows
 * torch/csrc/jit/runtime/register_prim_ops.cpp. */
#include "blocks/values.h"
#include "call/define.h"

typedef struct span {
  const char *p;
  size_t n;
} span;

static span arg(const rush_call *c, uint32_t i) {
  return (span){arg_str(c, i)->bytes, arg_str(c, i)->size};
}

static rush_status return_bytes(rush_call *c, uint32_t i, const char *p, size_t n) {
  return rush_new_str(c->heap, p, n, &c->results[i]);
}
static rush_status return_text(rush_call *c, rush_text *text) {
  return rush_str_of_text(c->heap, text, &c->results[0]);
}

static rush_status begin_list(rush_call *c) {
  return rush_new_list(c->heap, RUSH_KIND_LIST, c->result_types ? c->result_types[0] : RUSH_NONE,
                       NULL, 0, &c->results[0]);
}
static rush_status append_str(rush_call *c, const char *p, size_t n) {
  rush_value s;
  RUSH_TRY(rush_charge(c->ctx, 16));
  RUSH_TRY(rush_new_str(c->heap, p, n, &s));
  rush_status st = rush_list_push(c->heap, rush_as_list(&c->results[0]), s);
  rush_drop(c->heap, &s);
  return st;
}

#define NOWHERE SIZE_MAX

/* Returns whether `what` occurs at s.p[i]. Comparing long, nearly equal strings takes time, so this
 * checks for a stop request. */
static bool occurs_at(rush_ctx *ctx, span s, span what, size_t i) {
  if (what.n > 0 && s.p[i] != what.p[0]) return false;
  (void)rush_should_stop(ctx, what.n / 16 + 1);
  return memcmp(s.p + i, what.p, what.n) == 0;
}

/* Loops over characters count their work in steps of so many. */
enum { OFTEN = 1 << 16 };

/* Returns whether a search ends before character i. */
static bool is_search_stopped(rush_ctx *ctx, size_t i) {
  return i % OFTEN > 0 ? ctx->stopped : rush_should_stop(ctx, OFTEN);
}

/* Returns the first position, from `from` on, at which `what` occurs. */
static size_t find(rush_ctx *ctx, span s, span what, size_t from) {
  for (size_t i = from; i <= s.n && s.n - i >= what.n && !is_search_stopped(ctx, i); i++)
    if (occurs_at(ctx, s, what, i)) return i;
  return NOWHERE;
}
static size_t find_last(rush_ctx *ctx, span s, span what) {
  for (size_t n = s.n + 1; n > 0 && !is_search_stopped(ctx, n); n--)
    if (s.n - (n - 1) >= what.n && occurs_at(ctx, s, what, n - 1)) return n - 1;
  return NOWHERE;
}

static rush_status charge_characters(rush_call *c, size_t i) {
  return i % OFTEN > 0 ? RUSH_OK : rush_charge(c->ctx, OFTEN);
}

/* ASCII letters, whatever the locale is. */
static bool is_upper(char b) {
  return b >= 'A' && b <= 'Z';
}
static bool is_lower(char b) {
  return b >= 'a' && b <= 'z';
}
static bool is_alpha(char b) {
  return is_upper(b) || is_lower(b);
}
static bool is_digit(char b) {
  return b >= '0' && b <= '9';
}
static bool is_space(char b) {
  return b == ' ' || (b >= '\t' && b <= '\r');
}
static char upper(char b) {
  return is_lower(b) ? (char)(b - 32) : b;
}
static char lower(char b) {
  return is_upper(b) ? (char)(b + 32) : b;
}

/* ---- Whole strings --------------------------------------------------------------------------- */

RUSH_OP(str_len) {
  ret_int(c, 0, (int64_t)arg_str(c, 0)->size);
  return RUSH_OK;
}

RUSH_OP(str_add) {
  rush_text text = {.ctx = c->ctx};
  rush_text_bytes(&text, arg(c, 0).p, arg(c, 0).n);
  rush_text_bytes(&text, arg(c, 1).p, arg(c, 1).n);
  return return_text(c, &text);
}

RUSH_OP(str_getitem) {
  span s = arg(c, 0);
  int64_t i = arg_int(c, 1), n = (int64_t)s.n;
  RUSH_CHECK_ARG(i >= -n && i < n, "string index %lld is out of range for a string of length %lld",
                 (long long)i, (long long)n);
  return return_bytes(c, 0, s.p + (i < 0 ? i + n : i), 1);
}

RUSH_OP(str_list) {
  span s = arg(c, 0);
  RUSH_TRY(begin_list(c));
  for (size_t i = 0; i < s.n; i++) RUSH_TRY(append_str(c, s.p + i, 1));
  return RUSH_OK;
}

RUSH_OP(str_join) {
  const rush_list *list = arg_list(c, 1);
  rush_text text = {.ctx = c->ctx};
  for (size_t i = 0; i < list->n && !text.failed; i++) {
    if (i > 0) rush_text_bytes(&text, arg(c, 0).p, arg(c, 0).n);
    rush_text_bytes(&text, rush_as_str(&list->items[i])->bytes, rush_as_str(&list->items[i])->size);
  }
  return return_text(c, &text);
}

/* ---- Letters --------------------------------------------------------------------------------- */

typedef enum casing { UPPER, LOWER, CAPITALIZE, TITLE, SWAP } casing;

static rush_status recase(rush_call *c, casing how) {
  RUSH_TRY(return_bytes(c, 0, arg(c, 0).p, arg(c, 0).n));
  rush_str *s = rush_as_str(&c->results[0]);
  bool inside = false;
  for (size_t i = 0; i < s->size; i++) {
    RUSH_TRY(charge_characters(c, i));
    char b = s->bytes[i];
    bool up = how == UPPER || (how == CAPITALIZE && i == 0) || (how == TITLE && !inside) ||
              (how == SWAP && is_lower(b));
    inside = is_alpha(b);
    s->bytes[i] = up ? upper(b) : lower(b);
  }
  return RUSH_OK;
}
RUSH_OP(str_upper) {
  return recase(c, UPPER);
}
RUSH_OP(str_lower) {
  return recase(c, LOWER);
}
RUSH_OP(str_capitalize) {
  return recase(c, CAPITALIZE);
}
RUSH_OP(str_title) {
  return recase(c, TITLE);
}
RUSH_OP(str_swapcase) {
  return recase(c, SWAP);
}

static bool is_alnum(char b) {
  return is_alpha(b) || is_digit(b);
}
static bool is_print(char b) {
  return b >= ' ' && b <= '~';
}

static rush_status all_are(rush_call *c, bool (*is)(char), bool empty) {
  span s = arg(c, 0);
  bool all = s.n > 0 || empty;
  for (size_t i = 0; i < s.n && all; i++) {
    RUSH_TRY(charge_characters(c, i));
    all = is(s.p[i]);
  }
  ret_bool(c, 0, all);
  return RUSH_OK;
}
RUSH_OP(str_isdigit) {
  return all_are(c, is_digit, false);
}
RUSH_OP(str_isalpha) {
  return all_are(c, is_alpha, false);
}
RUSH_OP(str_isalnum) {
  return all_are(c, is_alnum, false);
}
RUSH_OP(str_isspace) {
  return all_are(c, is_space, false);
}
RUSH_OP(str_isprintable) {
  return all_are(c, is_print, true);
}

/* libtorch's rule, which allows no underscores. */
RUSH_OP(str_isidentifier) {
  if (arg(c, 0).n > 0 && is_digit(arg(c, 0).p[0])) {
    ret_bool(c, 0, false);
    return RUSH_OK;
  }
  return all_are(c, is_alnum, false);
}

static rush_status cased(rush_call *c, bool (*wrong)(char)) {
  span s = arg(c, 0);
  bool letters = false, fits = true;
  for (size_t i = 0; i < s.n; i++) {
    RUSH_TRY(charge_characters(c, i));
    letters |= is_alpha(s.p[i]);
    fits &= !wrong(s.p[i]);
  }
  ret_bool(c, 0, letters && fits);
  return RUSH_OK;
}
RUSH_OP(str_islower) {
  return cased(c, is_upper);
}
RUSH_OP(str_isupper) {
  return cased(c, is_lower);
}

RUSH_OP(str_istitle) {
  span s = arg(c, 0);
  bool title = false, inside = false, fits = true;
  for (size_t i = 0; i < s.n; i++) {
    RUSH_TRY(charge_characters(c, i));
    fits &= inside ? !is_upper(s.p[i]) : !is_lower(s.p[i]);
    title |= is_alpha(s.p[i]);
    inside = is_alpha(s.p[i]);
  }
  ret_bool(c, 0, title && fits);
  return RUSH_OK;
}

/* ---- Padding and stripping ------------------------------------------------------------------- */

static rush_status padded(rush_call *c, size_t left, size_t right, char fill) {
  rush_text text = {.ctx = c->ctx};
  for (size_t i = 0; i < left && !text.failed; i++) rush_text_bytes(&text, &fill, 1);
  rush_text_bytes(&text, arg(c, 0).p, arg(c, 0).n);
  for (size_t i = 0; i < right && !text.failed; i++) rush_text_bytes(&text, &fill, 1);
  return return_text(c, &text);
}

/* Computes the number of characters that are missing to the requested width. */
static rush_status count_padding(rush_call *c, size_t *n) {
  int64_t have = (int64_t)arg(c, 0).n, width = arg_int(c, 1);
  RUSH_CHECK_ARG(c->n_args < 3 || arg(c, 2).n == 1,
                 "TypeError: The fill character must be exactly one character long");
  RUSH_CHECK(c->ctx, width < INT32_MAX, RUSH_ERR_NO_MEMORY,
             "out of memory: tried to make a string of %lld bytes", (long long)width);
  *n = width > have ? (size_t)(width - have) : 0;
  return RUSH_OK;
}

RUSH_OP(str_center) {
  size_t n;
  RUSH_TRY(count_padding(c, &n));
  size_t left = n / 2 + (n & (size_t)arg_int(c, 1) & 1); /* as in Python */
  return padded(c, left, n - left, arg(c, 2).p[0]);
}
RUSH_OP(str_ljust) {
  size_t n;
  RUSH_TRY(count_padding(c, &n));
  return padded(c, 0, n, arg(c, 2).p[0]);
}
RUSH_OP(str_rjust) {
  size_t n;
  RUSH_TRY(count_padding(c, &n));
  return padded(c, n, 0, arg(c, 2).p[0]);
}
RUSH_OP(str_zfill) { /* zeros precede even a sign, as in libtorch */
  size_t n;
  RUSH_TRY(count_padding(c, &n));
  return padded(c, n, 0, '0');
}

static bool is_in(char b, span set) {
  return memchr(set.p, b, set.n) != NULL;
}

static rush_status stripped(rush_call *c, bool left, bool right) {
  span s = arg(c, 0), set = arg(c, 1);
  const uint64_t work = set.n / 16 + 1;
  while (left && s.n > 0 && is_in(s.p[0], set) && !rush_should_stop(c->ctx, work)) s.p++, s.n--;
  while (right && s.n > 0 && is_in(s.p[s.n - 1], set) && !rush_should_stop(c->ctx, work)) s.n--;
  return return_bytes(c, 0, s.p, s.n);
}
RUSH_OP(str_strip) {
  return stripped(c, true, true);
}
RUSH_OP(str_lstrip) {
  return stripped(c, true, false);
}
RUSH_OP(str_rstrip) {
  return stripped(c, false, true);
}

RUSH_OP(str_expandtabs) {
  span s = arg(c, 0);
  int64_t size = arg_int(c, 1), column = 0;
  rush_text text = {.ctx = c->ctx};
  for (size_t i = 0; i < s.n && !text.failed; i++) {
    if (s.p[i] != '\t') {
      rush_text_bytes(&text, s.p + i, 1);
      column++;
      continue;
    }
    if (size <= 0) continue;
    do rush_text_bytes(&text, " ", 1);
    while (++column % size > 0 && !text.failed);
  }
  return return_text(c, &text);
}

/* ---- Searching ------------------------------------------------------------------------------- */

/* Resolves start and end of find and similar methods. Negative values count from the end, but an
 * end of -1 is the end itself. */
static rush_status bounds(rush_call *c, int64_t *start, int64_t *end) {
  int64_t n = (int64_t)arg(c, 0).n;
  *start = arg_int(c, 2), *end = arg_int(c, 3);
  if (*start < 0) *start = *start + n < 0 ? 0 : *start + n;
  if (*end < 0) *end = *end + n + 1 < 0 ? 0 : *end + n + 1;
  if (*end > n) *end = n;
  return RUSH_OK;
}

static rush_status find_in_bounds(rush_call *c, bool last, int64_t *out) {
  int64_t start, end;
  RUSH_TRY(bounds(c, &start, &end));
  span s = arg(c, 0);
  RUSH_CHECK_ARG(start <= (int64_t)s.n || arg_int(c, 3) <= start,
                 "start %lld is beyond the end of a string of length %zu", (long long)start, s.n);
  span part = end > start ? (span){s.p + start, (size_t)(end - start)} : (span){s.p, 0};
  size_t at = last ? find_last(c->ctx, part, arg(c, 1)) : find(c->ctx, part, arg(c, 1), 0);
  *out = at == NOWHERE ? -1 : (int64_t)at + start;
  return RUSH_OK;
}

static rush_status return_position(rush_call *c, bool last, bool required) {
  int64_t at;
  RUSH_TRY(find_in_bounds(c, last, &at));
  RUSH_CHECK_ARG(!required || at >= 0, "ValueError: substring not found");
  ret_int(c, 0, at);
  return RUSH_OK;
}
RUSH_OP(str_find) {
  return return_position(c, false, false);
}
RUSH_OP(str_rfind) {
  return return_position(c, true, false);
}
RUSH_OP(str_index) {
  return return_position(c, false, true);
}
RUSH_OP(str_rindex) {
  return return_position(c, true, true);
}

RUSH_OP(str_count) {
  span s = arg(c, 0), what = arg(c, 1);
  int64_t start, end, n = 0;
  RUSH_TRY(bounds(c, &start, &end));
  if (start <= (int64_t)s.n) {
    for (size_t at = find(c->ctx, s, what, (size_t)start); at != NOWHERE && (int64_t)at < end;
         at = find(c->ctx, s, what, at + what.n)) {
      n++;
      if (what.n == 0) at++; /* libtorch loops forever here; Python counts every position */
    }
    if (what.n == 0) n = start < end ? end - start + 1 : 0;
  }
  ret_int(c, 0, n);
  return RUSH_OK;
}

static rush_status affix(rush_call *c, bool at_end) {
  int64_t start, end;
  RUSH_TRY(bounds(c, &start, &end));
  span s = arg(c, 0), what = arg(c, 1);
  RUSH_CHECK_ARG(start <= (int64_t)s.n, "start %lld is beyond the end of a string of length %zu",
                 (long long)start, s.n);
  size_t n = end >= start ? (size_t)(end - start) : s.n - (size_t)start;
  RUSH_TRY(rush_charge(c->ctx, what.n / 16));
  bool is = n >= what.n && memcmp(s.p + start + (at_end ? n - what.n : 0), what.p, what.n) == 0;
  ret_bool(c, 0, is);
  return RUSH_OK;
}
RUSH_OP(str_startswith) {
  return affix(c, false);
}
RUSH_OP(str_endswith) {
  return affix(c, true);
}

/* ---- Splitting ------------------------------------------------------------------------------- */

RUSH_OP(str_replace) {
  span s = arg(c, 0), old = arg(c, 1), new = arg(c, 2);
  int64_t left = arg_int(c, 3);
  size_t done = 0, from = 0, at;
  rush_text text = {.ctx = c->ctx};
  while (left != 0 && !text.failed && (at = find(c->ctx, s, old, from)) != NOWHERE) {
    rush_text_bytes(&text, s.p + done, at - done);
    rush_text_bytes(&text, new.p, new.n);
    done = at + old.n;
    /* libtorch loops forever for an empty `old`; this gives Python's result. */
    from = old.n > 0 ? done : at + 1;
    if (left > 0) left--;
  }
  rush_text_bytes(&text, s.p + done, s.n - done);
  return return_text(c, &text);
}

static rush_status split_at_spaces(rush_call *c, span s) {
  for (size_t i = 0; i < s.n;) {
    RUSH_TRY(charge_characters(c, i));
    if (is_space(s.p[i])) {
      i++;
      continue;
    }
    size_t from = i;
    while (i < s.n && !is_space(s.p[i])) RUSH_TRY(charge_characters(c, i++));
    RUSH_TRY(append_str(c, s.p + from, i - from));
  }
  return RUSH_OK;
}

/* Without a separator, splits at runs of spaces and ignores `max`, as libtorch does. */
RUSH_OP(str_split) {
  span s = arg(c, 0);
  RUSH_TRY(begin_list(c));
  if (arg_is_none(c, 1)) return split_at_spaces(c, s);
  span separator = arg(c, 1);
  int64_t left = arg_int(c, 2);
  size_t from = 0, at;
  RUSH_CHECK_ARG(separator.n > 0, "ValueError: empty separator");
  while (left != 0 && (at = find(c->ctx, s, separator, from)) != NOWHERE) {
    RUSH_TRY(append_str(c, s.p + from, at - from));
    from = at + separator.n;
    if (left > 0) left--;
  }
  return append_str(c, s.p + from, s.n - from);
}

RUSH_OP(str_rsplit) {
  span s = arg(c, 0), separator = arg(c, 1);
  int64_t left = arg_int(c, 2);
  size_t at;
  RUSH_CHECK_ARG(separator.n > 0, "ValueError: empty separator");
  RUSH_TRY(begin_list(c));
  while (left != 0 && (at = find_last(c->ctx, s, separator)) != NOWHERE) {
    size_t behind = at + separator.n;
    RUSH_TRY(append_str(c, s.p + behind, s.n - behind));
    s.n = at;
    if (left > 0) left--;
  }
  RUSH_TRY(append_str(c, s.p, s.n));
  rush_list *list = rush_as_list(&c->results[0]);
  for (size_t i = 0; i < list->n / 2; i++) {
    rush_value v = list->items[i];
    list->items[i] = list->items[list->n - 1 - i];
    list->items[list->n - 1 - i] = v;
  }
  return RUSH_OK;
}

static rush_status return_parts(rush_call *c, span a, span b, span d) {
  rush_value parts[3] = {rush_none(), rush_none(), rush_none()};
  rush_status st = rush_new_str(c->heap, a.p, a.n, &parts[0]);
  if (st == RUSH_OK) st = rush_new_str(c->heap, b.p, b.n, &parts[1]);
  if (st == RUSH_OK) st = rush_new_str(c->heap, d.p, d.n, &parts[2]);
  if (c->n_results == 3) { /* the overload with three results */
    for (uint32_t i = 0; i < 3; i++) ret_value(c, i, parts[i]);
    return st;
  }
  if (st == RUSH_OK)
    st = rush_new_list(c->heap, RUSH_KIND_TUPLE, c->result_types ? c->result_types[0] : RUSH_NONE,
                       parts, 3, &c->results[0]);
  for (int i = 0; i < 3; i++) rush_drop(c->heap, &parts[i]);
  return st;
}

RUSH_OP(str_partition) {
  span s = arg(c, 0), separator = arg(c, 1);
  size_t at = find(c->ctx, s, separator, 0);
  if (at == NOWHERE) return return_parts(c, s, (span){s.p, 0}, (span){s.p, 0});
  size_t behind = at + separator.n;
  return return_parts(c, (span){s.p, at}, separator, (span){s.p + behind, s.n - behind});
}

RUSH_OP(str_rpartition) {
  span s = arg(c, 0), separator = arg(c, 1);
  size_t at = find_last(c->ctx, s, separator);
  if (at == NOWHERE) return return_parts(c, (span){s.p, 0}, (span){s.p, 0}, s);
  size_t behind = at + separator.n;
  return return_parts(c, (span){s.p, at}, separator, (span){s.p + behind, s.n - behind});
}

/* Each line end is one character. With keepends, it becomes its own item, as in libtorch. */
RUSH_OP(str_splitlines) {
  static const char ends[] = "\n\r\v\f\x1c\x1d\x1e";
  span s = arg(c, 0);
  size_t from = 0;
  RUSH_TRY(begin_list(c));
  for (size_t i = 0; i < s.n; i++) {
    RUSH_TRY(charge_characters(c, i));
    if (!is_in(s.p[i], (span){ends, sizeof ends - 1})) continue;
    RUSH_TRY(append_str(c, s.p + from, i - from));
    if (arg_bool(c, 1)) RUSH_TRY(append_str(c, s.p + i, 1));
    from = i + 1;
  }
  return from < s.n ? append_str(c, s.p + from, s.n - from) : RUSH_OK;
}
