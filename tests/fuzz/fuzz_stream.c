/* Loads a file in pieces of any size. It finishes early or twice, destroys in any state, and lets
 * memory run out at any call. Model and message must equal those of the whole file. */
#include "fuzz.h"
#include "mutate.h"

enum { MESSAGE = 4096 };

/* The outcome of one way to load: a status, and the message or the model's description. */
typedef struct outcome {
  rush_status st;
  uint64_t told;
  char message[MESSAGE];
} outcome;

static void note(rush_ctx *ctx, const rush_model *model, rush_status st, outcome *out) {
  char *text;
  size_t size;
  *out = (outcome){.st = st};
  if (st != RUSH_OK) {
    fuzz_failed(ctx, st);
    strncpy(out->message, rush_ctx_error(ctx), MESSAGE - 1);
    return;
  }
  if (rush_model_describe(ctx, model, RUSH_DESCRIBE_GRAPH, &text, &size) != RUSH_OK) return;
  out->told = fuzz_hash(1, text, size);
  rush_free(ctx, text, size);
}

static void in_one_piece(const uint8_t *data, size_t size, outcome *out) {
  fuzz_memory memory = {.limit = FUZZ_LOAD_BYTES, .fill = 0xA5};
  rush_ctx *ctx = fuzz_open(&memory);
  rush_model *model;
  rush_status st = rush_model_load(ctx, data, size, &model);
  note(ctx, model, st, out);
  rush_model_destroy(ctx, model);
  fuzz_close(ctx, &memory);
}

/* Puts the next piece. Returns OK if there may be another one. */
static rush_status put(rush_loader *loader, const uint8_t **at, const uint8_t *end,
                       fuzz_bytes *script) {
  void *to;
  size_t room, wish = 1;
  rush_status st = rush_loader_window(loader, &to, &room);
  if (st != RUSH_OK || room == 0) return st;
  wish <<= fuzz_u8(script) % 20;
  wish += fuzz_u8(script);
  if (wish > room) wish = room;
  if (wish > (size_t)(end - *at)) wish = (size_t)(end - *at);
  memcpy(to, *at, wish);
  *at += wish;
  return rush_loader_advance(loader, wish);
}

static bool complete(rush_loader *loader) {
  void *to;
  size_t room;
  return rush_loader_window(loader, &to, &room) != RUSH_OK || room == 0;
}

/* Describes the head before the rest has arrived. */
static void look(rush_ctx *ctx, rush_loader *loader) {
  char *text;
  size_t size;
  const rush_model *head = rush_loader_head(loader);
  if (!head) return;
  rush_status st = rush_model_describe(ctx, head, RUSH_DESCRIBE_JSON, &text, &size);
  if (st != RUSH_OK) {
    fuzz_failed(ctx, st);
    return;
  }
  FUZZ_RULE(fuzz_is_json(text, strlen(text)), "the head's description is not JSON");
  rush_free(ctx, text, size);
}

/* Puts all pieces and finishes. The caller owns the model, if any. */
static rush_model *in_pieces(rush_ctx *ctx, rush_loader *loader, const uint8_t *data, size_t size,
                             fuzz_bytes *script, outcome *out) {
  const uint8_t *at = data, *end = data + size;
  rush_model *model = NULL;
  rush_status st = RUSH_OK;
  while (st == RUSH_OK && at < end && !complete(loader)) st = put(loader, &at, end, script);
  if (st == RUSH_OK && at < end) { /* rush_model_load refuses bytes after the file */
    *out = (outcome){.st = RUSH_PENDING};
    return NULL;
  }
  if (st == RUSH_OK) {
    st = rush_loader_finish(loader, &model);
    FUZZ_RULE((st == RUSH_OK) == (model != NULL), "finish fails and gives a model");
  }
  note(ctx, model, st, out);
  return model;
}

static void compare(const outcome *whole, const outcome *pieces) {
  if (pieces->st == RUSH_PENDING) {
    FUZZ_RULE(whole->st != RUSH_OK, "bytes behind the file are not refused");
    return;
  }
  FUZZ_RULE(whole->st == pieces->st && whole->told == pieces->told &&
                strcmp(whole->message, pieces->message) == 0,
            "in one piece: %s '%s'; in pieces: %s '%s'", rush_status_name(whole->st),
            whole->message, rush_status_name(pieces->st), pieces->message);
}

/* Makes the calls of the script in any order. */
static rush_model *anyhow(rush_ctx *ctx, rush_loader *loader, const uint8_t *data, size_t size,
                          fuzz_bytes *script) {
  const uint8_t *at = data, *end = data + size;
  rush_model *model, *kept = NULL;
  for (int k = 0; k < 200; k++) {
    uint8_t what = fuzz_u8(script);
    rush_status st = RUSH_OK;
    if (what < 200) {
      st = put(loader, &at, end, script);
    } else if (what < 220) {
      st = rush_loader_finish(loader, &model);
      FUZZ_RULE(!model || !kept, "two models of one file");
      if (model) kept = model;
    } else if (what < 230) {
      look(ctx, loader);
    } else if (what < 240) {
      st = rush_loader_advance(loader, SIZE_MAX);
      FUZZ_RULE(st != RUSH_OK, "more bytes than there was room for");
    } else if (what < 244) {
      break;
    } else {
      (void)rush_loader_total(loader);
    }
    if (st != RUSH_OK) fuzz_failed(ctx, st);
  }
  return kept;
}

static void load(rush_ctx *ctx, const uint8_t *data, size_t size, bool whole, fuzz_bytes *script) {
  outcome at_once, pieces;
  rush_loader *loader;
  rush_model *model;
  rush_status st = rush_loader_create(ctx, &loader);
  if (st != RUSH_OK) {
    fuzz_failed(ctx, st);
    return;
  }
  if (whole) {
    in_one_piece(data, size, &at_once);
    model = in_pieces(ctx, loader, data, size, script, &pieces);
    compare(&at_once, &pieces);
  } else {
    model = anyhow(ctx, loader, data, size, script);
  }
  rush_loader_destroy(loader);
  if (model) fuzz_run_all(ctx, model, NULL);
  rush_model_destroy(ctx, model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t made[64];
  fuzz_bytes script;
  size = fuzz_split(data, size, &script, made);
  uint8_t mode = fuzz_u8(&script);
  fuzz_memory memory = {.limit = FUZZ_LOAD_BYTES, .fill = 0xA5};
  if (mode >= 192) memory.fail_at = 1 + fuzz_u8(&script) + 256u * (fuzz_u8(&script) % 8u);
  rush_ctx *ctx = fuzz_open(&memory);
  if (!ctx) return 0;
  load(ctx, data, size, mode < 96, &script);
  fuzz_close(ctx, &memory);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  return mutate_file_and_script(data, size, max_size, seed);
}
