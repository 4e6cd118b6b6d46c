/* run_linked MODEL.rush, run_added MODEL.rush [--add]: replays the file's test vectors, whose
 * answers are OpenCV's. run_linked is linked with the operator. run_added gets it from
 * rush_ctx_add_op with --add, and otherwise lacks it. */
#include <rushlight/op.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const rush_custom_op warp_op;

static rush_status verify(rush_ctx *ctx, const rush_model *model) {
  rush_session *session;
  rush_status st = rush_session_create(ctx, model, &session);
  for (size_t i = 0; st == RUSH_OK && i < rush_model_test_count(model); i++) {
    rush_verify_report report;
    st = rush_session_verify(session, i, &report);
    if (st == RUSH_OK) printf("test vector %zu: max abs %.1e\n", i, report.max_abs);
  }
  rush_session_destroy(session);
  return st;
}

int main(int argc, char **argv) {
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (!file) return fprintf(stderr, "usage: %s MODEL.rush [--add]\n", argv[0]), 2;
  static char bytes[1 << 20];
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);

  rush_ctx *ctx;
  rush_model *model = NULL;
  if (rush_ctx_create(NULL, NULL, &ctx) != RUSH_OK) return fprintf(stderr, "no memory\n"), 1;
  rush_status st = RUSH_OK;
  if (argc > 2 && strcmp(argv[2], "--add") == 0) st = rush_ctx_add_op(ctx, &warp_op);
  if (st == RUSH_OK) st = rush_model_load(ctx, bytes, size, &model);
  if (st == RUSH_OK) st = verify(ctx, model);
  if (st != RUSH_OK) fprintf(stderr, "%s: %s\n", rush_status_name(st), rush_ctx_error(ctx));
  rush_model_destroy(ctx, model);
  rush_ctx_destroy(ctx);
  return st == RUSH_OK ? 0 : 1;
}
