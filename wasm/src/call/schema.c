#include "call/schema.h"

#include "base/decimal.h"

typedef struct parser {
  rush_ctx *ctx;
  const char *text, *at;
} parser;

static rush_status wrong(parser *p, const char *wanted) {
  return rush_fail(p->ctx, RUSH_ERR_BAD_STATE, "schema '%s': expected %s at '%s'", p->text, wanted,
                   p->at);
}

static void skip_spaces(parser *p) {
  while (*p->at == ' ') p->at++;
}

static bool accept(parser *p, const char *token) {
  skip_spaces(p);
  size_t n = strlen(token);
  if (strncmp(p->at, token, n) != 0) return false;
  p->at += n;
  return true;
}

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

static size_t word(parser *p, const char **out) {
  skip_spaces(p);
  *out = p->at;
  while (is_word(*p->at)) p->at++;
  return (size_t)(p->at - *out);
}

static const struct {
  const char *name;
  rush_kinds kinds;
} base_types[] = {
    {"Tensor", RUSH_KIND_BIT(RUSH_KIND_TENSOR)},
    {"int", RUSH_KIND_BIT(RUSH_KIND_INT)},
    {"SymInt", RUSH_KIND_BIT(RUSH_KIND_INT)},
    {"ScalarType", RUSH_KIND_BIT(RUSH_KIND_INT)},
    {"Layout", RUSH_KIND_BIT(RUSH_KIND_INT)},
    {"MemoryFormat", RUSH_KIND_BIT(RUSH_KIND_INT)},
    {"float", RUSH_KIND_BIT(RUSH_KIND_FLOAT)},
    {"bool", RUSH_KIND_BIT(RUSH_KIND_BOOL)},
    {"complex", RUSH_KIND_BIT(RUSH_KIND_COMPLEX)},
    {"str", RUSH_KIND_BIT(RUSH_KIND_STR)},
    {"Device", RUSH_KIND_BIT(RUSH_KIND_DEVICE)},
    {"Generator", RUSH_KIND_BIT(RUSH_KIND_GENERATOR)},
    /* A row with RUSH_OP_COMPLEX_NUMBERS also accepts complex Scalars. Other operators never expect
     * one. */
    {"Scalar",
     RUSH_KIND_BIT(RUSH_KIND_INT) | RUSH_KIND_BIT(RUSH_KIND_FLOAT) | RUSH_KIND_BIT(RUSH_KIND_BOOL)},
    {"number",
     RUSH_KIND_BIT(RUSH_KIND_INT) | RUSH_KIND_BIT(RUSH_KIND_FLOAT) | RUSH_KIND_BIT(RUSH_KIND_BOOL)},
    {"AnyListType", RUSH_KIND_BIT(RUSH_KIND_LIST)},
    {"AnyEnumType", RUSH_KIND_BIT(RUSH_KIND_ENUM)},
    {"NoneType", RUSH_KIND_BIT(RUSH_KIND_NONE)},
};

/* Skips a bracketed group. p->at must be after its opening bracket. */
static void skip_group(parser *p, char open, char close) {
  for (int depth = 1; *p->at && depth > 0; p->at++)
    depth += *p->at == open ? 1 : *p->at == close ? -1 : 0;
}

/* Parses an alias annotation such as "a!)", from after its opening bracket. Keeps its first
 * letter. */
static void parse_alias(parser *p, char *alias, bool *written) {
  const char *from = p->at;
  skip_group(p, '(', ')');
  *alias = *from;
  *written |= memchr(from, '!', (size_t)(p->at - from)) != NULL;
}

/* Parses a type's name, with the parameters of a generic type or an alias annotation. */
static rush_status parse_name(parser *p, rush_kinds *kinds, bool *written, char *alias) {
  const char *name;
  size_t n = word(p, &name);
  if (n == 0) return wrong(p, "a type");
  *kinds = RUSH_KINDS_ANY; /* Any, and type variables such as t */
  for (size_t i = 0; i < sizeof base_types / sizeof *base_types; i++) {
    if (strlen(base_types[i].name) == n && memcmp(base_types[i].name, name, n) == 0)
      *kinds = base_types[i].kinds;
  }
  if (n == 4 && memcmp(name, "Dict", n) == 0) *kinds = RUSH_KIND_BIT(RUSH_KIND_DICT);
  bool generic =
      (n == 4 && memcmp(name, "Dict", n) == 0) || (n == 6 && memcmp(name, "Future", n) == 0);
  if (*p->at == '(') { /* parameters of a generic type, or an alias annotation */
    p->at++;
    if (generic) {
      skip_group(p, '(', ')');
    } else {
      parse_alias(p, alias, written);
    }
  }
  return RUSH_OK;
}

static rush_status parse_type(parser *p, rush_kinds *kinds, rush_kinds *items, bool *written,
                              char *alias) {
  *items = RUSH_KINDS_ANY;
  *written = false;
  *alias = 0;
  if (accept(p, "(")) { /* a tuple type */
    skip_group(p, '(', ')');
    *kinds = RUSH_KIND_BIT(RUSH_KIND_TUPLE);
  } else {
    RUSH_TRY(parse_name(p, kinds, written, alias));
  }
  for (;;) {
    if (*p->at == '[') {
      skip_group((p->at++, p), '[', ']');
      *items = *kinds;
      *kinds = RUSH_KIND_BIT(RUSH_KIND_LIST);
    } else if (*p->at == '?') {
      p->at++;
      *kinds |= RUSH_KIND_BIT(RUSH_KIND_NONE);
    } else if (*p->at == '(') { /* an alias annotation of a list */
      p->at++;
      parse_alias(p, alias, written);
    } else {
      return RUSH_OK;
    }
  }
}

static const struct {
  const char *name;
  int64_t value;
} named_ints[] = {{"Mean", 1},          {"contiguous_format", 0}, {"preserve_format", 1},
                  {"long", RUSH_INT64}, {"float", RUSH_FLOAT32},  {"strided", 0}};

/* An integer that is too large becomes the nearest int64. */
static bool parse_int(parser *p, int64_t *out) {
  skip_spaces(p);
  const char *q = p->at;
  const bool negative = *q == '-';
  if (*q == '-' || *q == '+') q++;
  if (*q < '0' || *q > '9') return false;
  int64_t v = 0;
  for (; *q >= '0' && *q <= '9'; q++) {
    const int64_t digit = negative ? '0' - *q : *q - '0';
    if (!rush_mul64(v, 10, &v) || !rush_add64(v, digit, &v)) v = negative ? INT64_MIN : INT64_MAX;
  }
  p->at = q;
  *out = v;
  return true;
}

static rush_status parse_number(parser *p, rush_schema_arg *arg) {
  const char *from = p->at;
  double f;
  const char *end = rush_parse_decimal(from, &f);
  if (end == from) return wrong(p, "a default");
  bool is_float = false;
  for (const char *q = from; q < end; q++)
    is_float |= *q == '.' || *q == 'e' || *q == 'n'; /* inf */
  int64_t i = 0;
  if (!is_float && !parse_int(p, &i)) return wrong(p, "an int");
  p->at = end;
  if (arg->kinds &
      RUSH_KIND_BIT(RUSH_KIND_LIST)) { /* int[2] stride=1: one item, which the operator repeats */
    arg->otherwise = RUSH_DEFAULT_INTS;
    arg->n_ints = 1;
    arg->ints[0] = i;
    return RUSH_OK;
  }
  bool wants_float =
      (arg->kinds & RUSH_KIND_BIT(RUSH_KIND_FLOAT)) && !(arg->kinds & RUSH_KIND_BIT(RUSH_KIND_INT));
  arg->value = is_float || wants_float ? rush_float(f) : rush_int(i);
  return RUSH_OK;
}

static rush_status parse_default(parser *p, rush_schema_arg *arg) {
  arg->otherwise = RUSH_DEFAULT_VALUE;
  arg->value = rush_none();
  if (accept(p, "None")) return RUSH_OK;
  if (accept(p, "True")) return arg->value = rush_bool(true), RUSH_OK;
  if (accept(p, "False")) return arg->value = rush_bool(false), RUSH_OK;
  skip_spaces(p);
  if (*p->at == '"' || *p->at == '\'') {
    char quote = *p->at++;
    arg->otherwise = RUSH_DEFAULT_STR;
    arg->text = p->at;
    while (*p->at && *p->at != quote) p->at++;
    arg->text_size = (uint32_t)(p->at - arg->text);
    if (*p->at++ == '\0') return p->at--, wrong(p, "a quote");
    return RUSH_OK;
  }
  if (accept(p, "[")) {
    arg->otherwise = RUSH_DEFAULT_INTS;
    while (!accept(p, "]")) {
      if (arg->n_ints == RUSH_DEFAULT_MAX_INTS || !parse_int(p, &arg->ints[arg->n_ints]))
        return wrong(p, "an int");
      arg->n_ints++;
      accept(p, ",");
    }
    return RUSH_OK;
  }
  for (size_t i = 0; i < sizeof named_ints / sizeof *named_ints; i++) {
    if (accept(p, named_ints[i].name)) return arg->value = rush_int(named_ints[i].value), RUSH_OK;
  }
  return parse_number(p, arg);
}

static rush_status parse_arg(parser *p, rush_schema *s, char *aliases) {
  /* keyword-only arguments follow, which makes no difference here */
  if (accept(p, "*")) return RUSH_OK;
  if (accept(p, "...")) return s->more_args = true, RUSH_OK;
  if (s->n_args == RUSH_SCHEMA_MAX_ARGS) return wrong(p, "the end");
  char *alias = aliases + s->n_args;
  rush_schema_arg *arg = &s->args[s->n_args++];
  *arg = (rush_schema_arg){.returned = -1};
  RUSH_TRY(parse_type(p, &arg->kinds, &arg->items, &arg->written, alias));
  size_t n = word(p, &arg->name);
  arg->name_size = (uint32_t)n;
  if (accept(p, "=")) return parse_default(p, arg);
  s->n_required = s->n_args;
  return RUSH_OK;
}

/* Links result `r` to the argument with the same alias annotation. */
static void link_result(rush_schema *s, const char *aliases, char alias, uint32_t r) {
  for (uint32_t k = 0; alias && k < s->n_args; k++) {
    if (s->args[k].written && aliases[k] == alias && s->args[k].returned < 0)
      s->args[k].returned = (int8_t)r;
  }
}

static rush_status parse_result(parser *p, rush_schema *s, const char *aliases) {
  rush_kinds items;
  bool written;
  char alias;
  const uint32_t r = s->n_results;
  if (r == RUSH_SCHEMA_MAX_RESULTS) return wrong(p, "the end");
  skip_spaces(p);
  s->result_types[r].text = p->at;
  RUSH_TRY(parse_type(p, s->result_kinds + r, &items, &written, &alias));
  s->result_types[r].size = (uint32_t)(p->at - s->result_types[r].text);
  link_result(s, aliases, alias, r);
  s->n_results++;
  return RUSH_OK;
}

static rush_status parse_results(parser *p, rush_schema *s, const char *aliases) {
  const char *name;
  if (accept(p, "...")) return s->more_results = true, RUSH_OK;
  if (!accept(p, "(")) return parse_result(p, s, aliases);
  while (!accept(p, ")")) {
    if (accept(p, "...")) {
      s->more_results = true;
      continue;
    }
    RUSH_TRY(parse_result(p, s, aliases));
    word(p, &name);
    accept(p, ",");
  }
  return RUSH_OK;
}

static rush_status parse(parser *p, rush_schema *out) {
  char aliases[RUSH_SCHEMA_MAX_ARGS];
  while (*p->at && *p->at != '(') p->at++;
  if (!accept(p, "(")) return wrong(p, "(");
  while (!accept(p, ")")) {
    RUSH_TRY(parse_arg(p, out, aliases));
    accept(p, ",");
  }
  if (!accept(p, "->")) return wrong(p, "->");
  return parse_results(p, out, aliases);
}

rush_status rush_schema_parse(rush_ctx *ctx, const char *text, rush_schema *out) {
  rush_schema_arg args[RUSH_SCHEMA_MAX_ARGS];
  parser p = {ctx, text, text};
  rush_schema s = {.args = args};
  memset(out, 0, sizeof *out);
  RUSH_TRY(parse(&p, &s));
  rush_schema_arg *kept;
  RUSH_TRY(rush_calloc(ctx, s.n_args, sizeof *kept, (void **)&kept));
  if (s.n_args) memcpy(kept, args, s.n_args * sizeof *kept);
  s.args = kept;
  *out = s;
  return RUSH_OK;
}

void rush_schema_take_complex(rush_schema *schema) {
  const rush_kinds number = RUSH_KIND_BIT(RUSH_KIND_INT) | RUSH_KIND_BIT(RUSH_KIND_FLOAT);
  for (uint32_t k = 0; k < schema->n_args; k++)
    if ((schema->args[k].kinds & number) == number)
      schema->args[k].kinds |= RUSH_KIND_BIT(RUSH_KIND_COMPLEX);
}

void rush_schema_free(rush_ctx *ctx, rush_schema *schema) {
  rush_release(ctx, schema->args, schema->n_args * sizeof *schema->args);
}
