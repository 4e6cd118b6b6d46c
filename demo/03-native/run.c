/* run_c MODEL.rush NUMBER..: passes the numbers to the model as float32[1, n] and prints the
 * answer. */
#include <rushlight/rushlight.h>
#include <stdio.h>
#include <stdlib.h>

static void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void *bytes = malloc(*size);
  if (bytes && fread(bytes, 1, *size, file) != *size) {
    free(bytes);
    bytes = NULL;
  }
  fclose(file);
  return bytes;
}

/* Prints a float32 tensor: its name, and its elements in row-major order. */
static rush_status print_tensor(rush_session *session, const char *name, const rush_value *value) {
  rush_value copy = *value;
  rush_value_retain(session, &copy);
  rush_status status = rush_tensor_make_contiguous(session, &copy);
  rush_tensor_info info;
  if (status == RUSH_OK) status = rush_tensor_inspect(session, &copy, &info);
  if (status == RUSH_OK) {
    printf("%s:", name);
    for (int64_t i = 0; i < info.numel; i++) printf(" %.6f", (double)((const float *)info.data)[i]);
    printf("\n");
  }
  rush_value_release(session, &copy);
  return status;
}

static rush_status run(rush_ctx *ctx, const rush_model *model, char **numbers, int64_t n) {
  rush_session *session;
  rush_status status = rush_session_create(ctx, model, &session);
  if (status != RUSH_OK) return status;
  const int64_t sizes[2] = {1, n};
  rush_value x, y = rush_none();
  void *data;
  status = rush_tensor_create(session, RUSH_FLOAT32, 2, sizes, &x, &data);
  for (int64_t i = 0; status == RUSH_OK && i < n; i++)
    ((float *)data)[i] = strtof(numbers[i], NULL);
  if (status == RUSH_OK) status = rush_session_run(session, 0, &x, 1, &y);

  /* A method that returns a tuple has one output for each item. */
  size_t count = 1;
  const rush_value *outputs = y.kind == RUSH_KIND_TUPLE ? rush_items(&y, &count) : &y;
  for (size_t i = 0; status == RUSH_OK && i < count; i++)
    status = print_tensor(session, rush_model_output_name(model, 0, i), outputs + i);
  rush_value_release(session, &y);
  rush_value_release(session, &x);
  rush_session_destroy(session);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 3) return fprintf(stderr, "usage: run_c MODEL.rush NUMBER..\n"), 2;
  size_t size;
  void *bytes = read_file(argv[1], &size);
  if (!bytes) return fprintf(stderr, "%s cannot be read\n", argv[1]), 1;

  rush_ctx *ctx;
  rush_model *model = NULL;
  if (rush_ctx_create(NULL, NULL, &ctx) != RUSH_OK) return fprintf(stderr, "no memory\n"), 1;
  rush_status status = rush_model_load(ctx, bytes, size, &model);
  free(bytes); /* copied or packed */
  if (status == RUSH_OK) status = run(ctx, model, argv + 2, argc - 2);
  if (status != RUSH_OK) fprintf(stderr, "%s: %s\n", rush_status_name(status), rush_ctx_error(ctx));
  rush_model_destroy(ctx, model);
  rush_ctx_destroy(ctx);
  return status == RUSH_OK ? 0 : 1;
}
