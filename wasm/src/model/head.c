/* Reads the header and the section table, and locates the records of each section. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "model/model.h"

#define BAD RUSH_ERR_BAD_FILE

#define SECTION(id, name, type, field, count) \
  {id, sizeof(type), offsetof(rush_model, field), offsetof(rush_model, count), name}

/* The known sections: the width of a record, and the places in rush_model of the pointer to the
 * records and of their number. */
static const struct {
  uint16_t id, width, field, count;
  const char *name;
} sections[] = {
    /* clang-format off */
    SECTION(RUSH_SEC_STRING_BYTES, "string bytes", char, string_bytes, n_string_bytes),
    SECTION(RUSH_SEC_STRINGS, "strings", rush_file_string, strings, n_strings),
    SECTION(RUSH_SEC_LISTS, "lists", uint32_t, lists, n_lists),
    SECTION(RUSH_SEC_TYPES, "types", rush_file_type, types, n_types),
    SECTION(RUSH_SEC_STORAGES, "storages", rush_file_storage, storages, n_storages),
    SECTION(RUSH_SEC_TENSORS, "tensors", rush_file_tensor, tensors, n_tensors),
    SECTION(RUSH_SEC_CONSTANTS, "constants", rush_file_constant, constants, n_constants),
    SECTION(RUSH_SEC_OPS, "operators", rush_file_op, file_ops, n_ops),
    SECTION(RUSH_SEC_ATTRIBUTES, "attributes", rush_file_attribute, attributes, n_attributes),
    SECTION(RUSH_SEC_HINTS, "hints", rush_file_hint, hints, n_hints),
    SECTION(RUSH_SEC_PORTS, "ports", rush_file_port, ports, n_ports),
    SECTION(RUSH_SEC_REGISTERS, "registers", rush_file_register, registers, n_registers),
    SECTION(RUSH_SEC_OPERANDS, "operands", uint32_t, operands, n_operands),
    SECTION(RUSH_SEC_INSTRS, "instructions", rush_file_instr, instrs, n_instrs),
    SECTION(RUSH_SEC_METHODS, "methods", rush_file_method, methods, n_methods),
    SECTION(RUSH_SEC_UNIFORM, "uniform storages", rush_file_uniform, uniform, n_uniform),
    SECTION(RUSH_SEC_SOURCES, "sources", rush_file_source, sources, n_sources),
    SECTION(RUSH_SEC_TESTS, "tests", rush_file_test, tests, n_tests),
    SECTION(RUSH_SEC_META, "meta", rush_file_meta, meta, n_meta),
    SECTION(RUSH_SEC_TEXTS, "texts", rush_file_text, texts, n_texts),
    SECTION(RUSH_SEC_TRACED, "traced", rush_file_traced, traced, n_traced),
    SECTION(RUSH_SEC_CONSTRAINTS, "constraints", rush_file_constraint, constraints, n_constraints),
    SECTION(RUSH_SEC_MEASURES, "measures", rush_file_measure, measures, n_measures),
    SECTION(RUSH_SEC_EXACT, "exact results", rush_file_exact, exact, n_exact),
    SECTION(RUSH_SEC_ASSETS, "assets", rush_file_asset, assets, n_assets),
    /* clang-format on */
};
#define N_SECTIONS (sizeof sections / sizeof *sections)

/* Returns the index of a known section, or N_SECTIONS. */
static size_t find(uint32_t id) {
  size_t i = 0;
  while (i < N_SECTIONS && sections[i].id != id) i++;
  return i;
}

/* Sets the pointer and the number of a section's records. Pointers to all types of records have one
 * representation. */
static void set_records(rush_model *m, size_t section, const void *records, uint32_t count) {
  memcpy((char *)m + sections[section].field, &records, sizeof records);
  memcpy((char *)m + sections[section].count, &count, sizeof count);
}

static const rush_file_section *table(const rush_model *m) {
  return (const rush_file_section *)(const void *)(m->head + RUSH_HEADER_BYTES);
}

rush_status rush_fail_record(rush_ctx *ctx, const rush_model *m, uint32_t section, uint32_t index,
                             const char *fmt, ...) {
  char reason[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(reason, sizeof reason, fmt, args);
  va_end(args);
  const rush_file_header *h = (const rush_file_header *)(const void *)m->head;
  uint64_t at = 0;
  for (uint32_t k = 0; k < h->n_sections; k++) {
    if (table(m)[k].id == section)
      at = table(m)[k].offset + (uint64_t)index * sections[find(section)].width;
  }
  return rush_fail(ctx, BAD, "%s[%u] at byte %llu: %s", sections[find(section)].name, index,
                   (unsigned long long)at, reason);
}

static bool all_zero(const char *at, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    if (at[i]) return false;
  }
  return true;
}

static rush_status place(rush_ctx *ctx, rush_model *m, const rush_file_section *s) {
  const size_t known = find(s->id);
  if (known == N_SECTIONS) {
    RUSH_CHECK(ctx, s->id >= RUSH_SEC_OPTIONAL, RUSH_ERR_UNSUPPORTED,
               "the file needs section 0x%x, which this runtime (format version %d) does not know",
               s->id, RUSH_FORMAT_VERSION);
    return RUSH_OK;
  }
  RUSH_CHECK(ctx, s->bytes == (uint64_t)s->count * sections[known].width, BAD,
             "section '%s': %u records of %u bytes are not %llu bytes", sections[known].name,
             s->count, sections[known].width, (unsigned long long)s->bytes);
  set_records(m, known, m->head + s->offset, s->count);
  return RUSH_OK;
}

/* The first bytes of other file formats that are mistaken for a .rush file. */
static const struct {
  uint8_t at, n;
  char bytes[5];
  const char *name;
} others[] = {
    {0, 1, "<", "an HTML page"},        {0, 4, "PK\3\4", "a PyTorch file"},
    {0, 2, "\x80\2", "a PyTorch file"}, {8, 1, "{", "a .safetensors file"},
    {0, 1, "\x8", "an ONNX model"},
};

rush_status rush_header_check(rush_ctx *ctx, const rush_model *m) {
  const rush_file_header *h = (const rush_file_header *)(const void *)m->head;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    RUSH_CHECK(ctx,
               memcmp(m->head + others[i].at, others[i].bytes, others[i].n) != 0 ||
                   memcmp(h->magic, RUSH_MAGIC, sizeof h->magic) == 0,
               BAD,
               "this is %s, not a .rush file. rushlight.export() writes a .rush file from a "
               "PyTorch model",
               others[i].name);
  RUSH_CHECK(ctx, memcmp(h->magic, RUSH_MAGIC, sizeof h->magic) == 0, BAD,
             "not a .rush file: byte 0 to 7 are %02x %02x %02x %02x %02x %02x %02x %02x",
             h->magic[0], h->magic[1], h->magic[2], h->magic[3], h->magic[4], h->magic[5],
             h->magic[6], h->magic[7]);
  RUSH_CHECK(ctx, h->version == RUSH_FORMAT_VERSION, RUSH_ERR_UNSUPPORTED,
             "the file has format version %u, this runtime reads version %d", h->version,
             RUSH_FORMAT_VERSION);
  RUSH_CHECK(ctx, h->features == 0, RUSH_ERR_UNSUPPORTED,
             "the file needs features 0x%llx, which this runtime does not know",
             (unsigned long long)h->features);
  RUSH_CHECK(ctx, h->n_sections >= 1 && h->n_sections <= RUSH_MAX_SECTIONS, BAD,
             "header: a file must have 1 to %d sections, got %u", RUSH_MAX_SECTIONS, h->n_sections);
  uint64_t least = RUSH_HEADER_BYTES + (uint64_t)h->n_sections * sizeof(rush_file_section);
  RUSH_CHECK(ctx,
             h->head_bytes >= least && h->head_bytes <= RUSH_MAX_HEAD_BYTES &&
                 h->head_bytes % RUSH_ALIGN == 0,
             BAD, "header: head_bytes must be a multiple of %d from %llu to %d, got %llu",
             RUSH_ALIGN, (unsigned long long)least, RUSH_MAX_HEAD_BYTES,
             (unsigned long long)h->head_bytes);
  RUSH_CHECK(ctx, h->weights_bytes % RUSH_ALIGN == 0 && h->weights_bytes <= (uint64_t)1 << 48, BAD,
             "header: weights_bytes must be a multiple of %d and at most 2^48, got %llu",
             RUSH_ALIGN, (unsigned long long)h->weights_bytes);
  RUSH_CHECK(ctx, h->file_bytes == h->head_bytes + h->weights_bytes, BAD,
             "header: file_bytes must be %llu + %llu, got %llu", (unsigned long long)h->head_bytes,
             (unsigned long long)h->weights_bytes, (unsigned long long)h->file_bytes);
  RUSH_CHECK(ctx, h->reserved[0] == 0 && h->reserved[1] == 0, BAD,
             "header: reserved bytes 48 to 63 must be zero");
  return RUSH_OK;
}

rush_status rush_head_open(rush_ctx *ctx, rush_model *m) {
  /* An absent section is empty. Its pointer must not be NULL: adding to NULL is undefined. */
  for (size_t k = 0; k < N_SECTIONS; k++) set_records(m, k, m->head, 0);
  const rush_file_header *h = (const rush_file_header *)(const void *)m->head;
  uint64_t at = RUSH_HEADER_BYTES + (uint64_t)h->n_sections * sizeof(rush_file_section);
  for (uint32_t k = 0; k < h->n_sections; k++) {
    const rush_file_section *s = table(m) + k;
    RUSH_CHECK(ctx, k == 0 || s->id > s[-1].id, BAD,
               "section table: ids must increase, got 0x%x after 0x%x", s->id, s[-1].id);
    RUSH_CHECK(ctx,
               s->offset % 8 == 0 && s->offset >= at && s->offset - at < RUSH_ALIGN &&
                   s->offset <= h->head_bytes && s->bytes <= h->head_bytes - s->offset,
               BAD,
               "section table: section 0x%x at byte %llu, %llu bytes long, does not follow byte "
               "%llu within the head",
               s->id, (unsigned long long)s->offset, (unsigned long long)s->bytes,
               (unsigned long long)at);
    RUSH_CHECK(ctx, all_zero(m->head + at, s->offset - at), BAD, "bytes %llu to %llu are not zero",
               (unsigned long long)at, (unsigned long long)s->offset);
    RUSH_TRY(place(ctx, m, s));
    at = s->offset + s->bytes;
  }
  RUSH_CHECK(
      ctx, h->head_bytes - at < RUSH_ALIGN && all_zero(m->head + at, h->head_bytes - at), BAD,
      "the head ends at byte %llu, its sections end at %llu, and the bytes between are not padding",
      (unsigned long long)h->head_bytes, (unsigned long long)at);
  return RUSH_OK;
}
