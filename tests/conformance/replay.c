/* Replays the conformance rows natively:
 *   replay [--oom | --oom-some | --threads N | --ran FILE] DIR [PATTERN..]
 *
 * DIR holds manifest.json and a .rush file per row, as generate.py makes them. Each vector of each
 * file is verified twice, so that the second run uses the caches of the first one. Prints the
 * rows that fail and a count.
 *
 * With --threads, each context has N threads, and all rows run in one process.
 *
 * With --ran, FILE lists the operators that ran and returned in rows that passed, one on each line.
 * covered.py reads it. An operator without results can only refuse, so its refusal counts.
 *
 * With --oom, allocation n and all later ones fail, for n = 1, 2, 3, ..., until a row passes
 * without a failed allocation. Each status must be no-memory, and no byte may leak.
 * --oom-some tests fewer allocations: after n it tests n + 1 + n / 8. */
#define _POSIX_C_SOURCE 200809L /* fork */
#include <rushlight/rushlight.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct row {
  char name[256], file[256], raises[512];
  bool must_raise;
} row;

static char *read_file(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  size_t room = 1 << 16;
  char *bytes = malloc(room + 1);
  *size = 0;
  while (bytes) {
    *size += fread(bytes + *size, 1, room - *size, f);
    if (*size < room) break;
    room *= 2;
    char *more = realloc(bytes, room + 1);
    if (!more) free(bytes);
    bytes = more;
  }
  fclose(f);
  if (bytes) bytes[*size] = '\0';
  return bytes;
}

/* Copies the JSON string at `at` (after its opening quote) to `out`, and returns the text after it.
 * generate.py wrote the manifest: it is ASCII, and its only escapes are \" and \\. */
static const char *take_string(const char *at, char *out, size_t room) {
  size_t n = 0;
  for (; *at && *at != '"'; at++) {
    if (*at == '\\' && at[1]) at++;
    if (n + 1 < room) out[n++] = *at;
  }
  out[n] = '\0';
  return *at ? at + 1 : at;
}

/* Parses the next {...} of the rows. */
static const char *next_row(const char *at, row *r) {
  char key[64];
  memset(r, 0, sizeof *r);
  at = strchr(at, '{');
  if (!at) return NULL;
  for (at++; *at && *at != '}';) {
    if (*at++ != '"') continue;
    at = take_string(at, key, sizeof key);
    at += strspn(at, ": \n");
    if (*at != '"') continue; /* a number */
    bool raises = strcmp(key, "raises") == 0;
    char *to = strcmp(key, "name") == 0 ? r->name : strcmp(key, "file") == 0 ? r->file : r->raises;
    char other[1024];
    bool known = to != r->raises || raises;
    r->must_raise |= raises;
    at = take_string(at + 1, known ? to : other,
                     !known   ? sizeof other
                     : raises ? sizeof r->raises
                              : sizeof r->name);
  }
  return at;
}

/* Returns NULL if the vector passes, and a description of the failure otherwise. */
static const char *check_vector(const row *r, rush_ctx *ctx, rush_session *session, size_t test,
                                char *text, size_t room) {
  rush_verify_report report;
  rush_status st = rush_session_verify(session, test, &report);
  if (!r->must_raise) {
    if (st == RUSH_OK) return NULL;
    snprintf(text, room, "%s: %s", rush_status_name(st), rush_ctx_error(ctx));
    return text;
  }
  if (st == RUSH_OK || st == RUSH_ERR_MISMATCH) {
    snprintf(text, room, "it ran, and PyTorch refuses it");
    return text;
  }
  if (rush_ctx_error(ctx)[0] && strstr(rush_ctx_error(ctx), r->raises)) return NULL;
  snprintf(text, room, "the message '%s' does not contain '%s'", rush_ctx_error(ctx), r->raises);
  return text;
}

/* ---- What ran -------------------------------------------------------------------------------- */

static FILE *ran; /* NULL without --ran */

static double no_clock(void *user) {
  (void)user;
  return 0;
}

/* The operators that a rush::chain runs are not listed separately. */
static void write_ran(const row *r, rush_ctx *ctx, rush_session *session) {
  rush_profile_row *rows;
  size_t n;
  if (rush_session_profile_rows(session, &rows, &n) != RUSH_OK) return;
  for (size_t i = 0; i < n; i++) {
    const char *schema = rush_op_schema(rows[i].op);
    const char *arrow = schema ? strstr(schema, " -> ()") : NULL;
    if (!r->must_raise || arrow) fprintf(ran, "%s\n", rows[i].op);
  }
  rush_free(ctx, rows, n * sizeof *rows);
  fflush(ran);
}

static const char *check_model(const row *r, rush_ctx *ctx, rush_model *model, char *text,
                               size_t room) {
  rush_session *session;
  const char *wrong = NULL;
  if (rush_session_create(ctx, model, &session) != RUSH_OK) {
    snprintf(text, room, "no session: %s", rush_ctx_error(ctx));
    return text;
  }
  if (ran && rush_session_profile(session, no_clock, NULL) != RUSH_OK) wrong = "no memory";
  if (rush_model_test_count(model) == 0) wrong = "the file has no test vectors";
  for (int round = 0; round < 2 && !wrong; round++) {
    for (size_t t = 0; t < rush_model_test_count(model) && !wrong; t++)
      wrong = check_vector(r, ctx, session, t, text, room);
  }
  if (ran && !wrong) write_ran(r, ctx, session);
  rush_session_destroy(session);
  return wrong;
}

static unsigned threads = 1;

static const char *check_row(const row *r, const char *dir, char *text, size_t room) {
  char path[4096];
  size_t size = 0, live, peak;
  rush_ctx *ctx;
  rush_model *model;
  snprintf(path, sizeof path, "%s/%s", dir, r->file);
  char *bytes = read_file(path, &size);
  if (!bytes) return "its file is not there";
  if (rush_ctx_create(NULL, NULL, &ctx) != RUSH_OK) {
    free(bytes);
    return "no memory";
  }
  const char *wrong = rush_ctx_set_threads(ctx, threads) == RUSH_OK ? NULL : "no threads";
  if (rush_model_load(ctx, bytes, size, &model) != RUSH_OK) {
    snprintf(text, room, "it does not load: %s", rush_ctx_error(ctx));
    wrong = text;
  } else {
    wrong = check_model(r, ctx, model, text, room);
  }
  free(bytes);
  rush_model_destroy(ctx, model);
  rush_ctx_set_threads(ctx, 1);
  rush_ctx_memory(ctx, &live, &peak);
  if (live > 0 && !wrong) {
    snprintf(text, room, "%zu bytes are not freed", live);
    wrong = text;
  }
  rush_ctx_destroy(ctx);
  return wrong;
}

/* ---- Without memory -------------------------------------------------------------------------- */

typedef struct faulty {
  size_t calls, fail_at, live;
} faulty;

static void *faulty_alloc(void *user, void *ptr, size_t old_size, size_t new_size) {
  faulty *f = user;
  if (new_size > 0 && ++f->calls >= f->fail_at) return NULL;
  void *p = NULL;
  if (new_size > 0) {
    p = realloc(ptr, new_size);
    if (!p) return NULL;
  } else {
    free(ptr);
  }
  f->live = f->live - old_size + new_size;
  return p;
}

/* Loads, makes a session and verifies. Returns the first status that is not OK. */
static rush_status everything(faulty *f, const char *bytes, size_t size) {
  rush_ctx *ctx;
  rush_model *model = NULL;
  rush_session *session = NULL;
  rush_verify_report report;
  rush_status st = rush_ctx_create(faulty_alloc, f, &ctx);
  if (st != RUSH_OK) return st;
  st = rush_model_load(ctx, bytes, size, &model);
  if (st == RUSH_OK) st = rush_session_create(ctx, model, &session);
  for (size_t t = 0; st == RUSH_OK && t < rush_model_test_count(model); t++)
    st = rush_session_verify(session, t, &report);
  rush_session_destroy(session);
  rush_model_destroy(ctx, model);
  rush_ctx_destroy(ctx);
  return st;
}

static bool some; /* --oom-some */

static const char *check_oom(const row *r, const char *dir, char *text, size_t room) {
  char path[4096];
  size_t size = 0;
  snprintf(path, sizeof path, "%s/%s", dir, r->file);
  char *bytes = read_file(path, &size);
  const char *wrong = NULL;
  if (!bytes) return "its file is not there";
  for (size_t n = 1; !wrong; n += some ? 1 + n / 8 : 1) {
    faulty f = {.fail_at = n};
    rush_status st = everything(&f, bytes, size);
    if (f.live > 0) {
      snprintf(text, room, "allocation %zu fails: %zu bytes are not freed", n, f.live);
      wrong = text;
    }
    if (f.calls < n) break;
    /* A row that must raise may do so without memory for its message. */
    bool raised = r->must_raise && st != RUSH_OK && st != RUSH_ERR_MISMATCH;
    if (st != RUSH_ERR_NO_MEMORY && !raised && !wrong) {
      snprintf(text, room, "allocation %zu fails: the status is %s", n, rush_status_name(st));
      wrong = text;
    }
  }
  free(bytes);
  return wrong;
}

/* ---- All rows -------------------------------------------------------------------------------- */

static bool wanted(const row *r, int n, char **patterns) {
  for (int k = 0; k < n; k++) {
    if (strstr(r->name, patterns[k])) return true;
  }
  return n == 0;
}

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

static const char *current; /* name of the row that runs in this process */

#if __has_feature(thread_sanitizer)
void __sanitizer_set_death_callback(void (*callback)(void));

static void name_current(void) {
  if (current) fprintf(stderr, "replay: this row was running: %s\n", current);
}
static void name_crashes(void) {
  __sanitizer_set_death_callback(name_current);
}
#else
static void name_crashes(void) {}
#endif

/* Runs the row in this process. A process that has had threads must not fork, because the child may
 * wait for a lock that no thread of its own holds. A crash ends the replay and names the row. */
static bool check_here(const row *r, const char *dir) {
  static char text[5000];
  current = r->name;
  const char *wrong = check_row(r, dir, text, sizeof text);
  current = NULL;
  if (wrong) printf("FAILED %s: %s\n", r->name, wrong);
  return !wrong;
}

/* Runs the row in its own process, so that a crash fails only this row. */
static bool check_apart(const row *r, const char *dir, bool oom) {
  static char text[5000];
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    const char *wrong = (oom ? check_oom : check_row)(r, dir, text, sizeof text);
    if (wrong) printf("FAILED %s: %s\n", r->name, wrong);
    exit(wrong != NULL);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0) status = -1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) printf("FAILED %s: it crashed\n", r->name);
  return status == 0;
}

int main(int argc, char **argv) {
  char path[4096];
  size_t size;
  int passed = 0, failed = 0;
  row r;
  some = argc > 1 && strcmp(argv[1], "--oom-some") == 0;
  const bool oom = some || (argc > 1 && strcmp(argv[1], "--oom") == 0);
  argc -= oom;
  argv += oom;
  if (argc > 2 && strcmp(argv[1], "--threads") == 0) {
    threads = (unsigned)atoi(argv[2]);
    argc -= 2;
    argv += 2;
  } else if (argc > 2 && strcmp(argv[1], "--ran") == 0) {
    ran = fopen(argv[2], "w");
    argc -= 2;
    argv += 2;
  }
  if (argc < 2) {
    fprintf(stderr,
            "usage: replay [--oom | --oom-some | --threads N | --ran FILE] DIR [PATTERN..]\n");
    return 2;
  }
  snprintf(path, sizeof path, "%s/manifest.json", argv[1]);
  char *manifest = read_file(path, &size);
  if (!manifest) {
    fprintf(stderr, "replay: there is no %s: run ./dev test conformance-make\n", path);
    return 2;
  }
  name_crashes();
  const char *at = strchr(manifest, '[');
  while (at && (at = next_row(at, &r))) {
    if (!wanted(&r, argc - 2, argv + 2)) continue;
    bool good = threads > 1 ? check_here(&r, argv[1]) : check_apart(&r, argv[1], oom);
    passed += good;
    failed += !good;
  }
  free(manifest);
  if (ran) fclose(ran);
  printf("%d rows passed, %d failed\n", passed, failed);
  return failed > 0 || passed == 0;
}
