/* The .rush file format, version 1. This comment is the specification; load.c is its only reader.
 *
 * A file is a HEAD (header, section table, sections) followed by WEIGHTS. The head alone says
 * what the model is, what it needs and where every weight lies, so a reader can plan before it
 * downloads. All integers are little-endian and all floats are IEEE 754. Records have a fixed
 * width and refer to each other by index. RUSH_NONE (0xFFFFFFFF) means "no index". Reserved
 * bytes must be zero, and a reader refuses a file in which they are not.
 *
 * HEADER, 64 bytes
 *    0  u8[8]  magic         89 52 55 53 48 0D 0A 1A: text-mode transfer damages it visibly
 *    8  u32    version       1
 *   12  u32    n_sections    1 to 64
 *   16  u64    features      bit set of what a reader must know; no bit is defined yet
 *   24  u64    head_bytes    header, table and sections; a multiple of 64, at most 64 MiB
 *   32  u64    weights_bytes weights and assets; a multiple of 64
 *   40  u64    file_bytes    head_bytes + weights_bytes
 *   48  u64    reserved
 *   56  u64    reserved
 *
 * SECTION TABLE. It follows the header and consists of n_sections records rush_file_section,
 * sorted by id. Each section starts at a multiple of 8, after the one before it; the first one
 * starts after the table. The gaps between sections, and the bytes up to head_bytes, are zero
 * and shorter than 64 bytes. `bytes` is count times the width of the record. A reader must know
 * each section with an id below 0x100; an absent one is empty. Sections from 0x100 on are
 * optional, and a reader skips those that it does not know.
 *
 *   id     record                 what
 *   0x01   u8                     string bytes: UTF-8, each string followed by a zero byte
 *   0x02   rush_file_string       strings
 *   0x03   u32                    index lists, used by the records below ("list at i, n long")
 *   0x04   rush_file_type         types; a type refers only to types before it
 *   0x05   rush_file_storage      storages: byte ranges of the weights, in execution order
 *   0x06   rush_file_tensor       tensors: views on storages
 *   0x07   rush_file_constant     constants; a constant refers only to constants before it
 *   0x08   rush_file_op           operators, by ATen name, at most 16384
 *   0x09   rush_file_attribute    attributes that the program may write, with their first value
 *   0x0A   rush_file_hint         dtype and sizes that an input or output is known to have
 *   0x0B   rush_file_port         inputs and outputs of the methods
 *   0x0C   rush_file_register     registers of the methods
 *   0x0D   u32                    operands of the instructions
 *   0x0E   rush_file_instr        instructions
 *   0x0F   rush_file_method       methods, 1 to 4096; names are distinct
 *   0x10   rush_file_uniform      storages that repeat eight bytes, and have none in the file
 *   0x100  rush_file_source       where an instruction comes from
 *   0x101  rush_file_test         test vectors
 *   0x102  rush_file_meta         free text: producer, torch version, licence
 *   0x103  rush_file_text         PyTorch's own graph and code text of each module
 *   0x104  rush_file_traced       what nodes of PyTorch's graph gave during test vectors, if asked
 *   0x105  rush_file_constraint   constraints on sizes of inputs; at most 4096
 *   0x106  rush_file_measure      how near the outputs of test vectors must be, value by value
 *   0x107  rush_file_exact        what traced nodes gave in float64
 *   0x108  rush_file_asset        files for the application; at most 4096
 *
 * Strings are sorted by offset and do not overlap. Types and constants are nested at most 64
 * deep. The following limits count shared parts as often as they occur. A type has at most 4096
 * parts and a constant 2^18, each plus the count of section 0x03. The sums over all types and
 * over all constants are at most 64 and 4 times these numbers, plus the number of records.
 * Constants of attributes, defaults and traces are copied. Together they have at most as many
 * parts as one constant may have, plus the number of constants, plus 16 for each.
 *
 * VALUES. A program computes with PyTorch's values: None, Tensor, int (64 bit), float (64 bit),
 * bool, complex, str, list, tuple, dict, Device, Generator, Future, enum and object. dtype, layout
 * and memory format are ints, with PyTorch's numbering, as in TorchScript.
 *
 * TYPES. `kind` is rush_type_kind. The children are a list of types at `list`: one for list,
 * optional and future, two for dict (key, value), any number for tuple and union, and none for
 * the others. `name` is the class of a named tuple, object or enum, otherwise RUSH_NONE. The
 * list of a named tuple continues with one string index per field. The list of an object has `n`
 * string indices, one per attribute; the file does not record their types.
 *
 * STORAGES. `offset` counts from head_bytes and is a multiple of 64. Storages are sorted by
 * offset and do not overlap. They are in the order in which execution first needs them, and
 * within an instruction small ones come first. So a reader can pack a layer as soon as it has
 * arrived.
 * A storage that a record of UNIFORM names has no bytes in the file. Its `bytes` bytes in memory
 * repeat the eight bytes of `pattern`, and end with the first of them if `bytes` is not a multiple
 * of eight. Its `offset` follows the rules above as if it had no bytes. Records of UNIFORM are
 * sorted by storage, and name each storage at most once.
 *
 * TENSORS. Sizes and strides are as in PyTorch. Strides count elements, are not negative, and
 * are zero beyond the rank. `offset` counts elements. The last element that the view reaches
 * lies inside the storage. A tensor whose storage is RUSH_NONE only describes a shape; constants
 * of kind RUSH_CONST_RANDOM refer to it.
 *
 * CONSTANTS, by `kind` (rush_const_kind):
 *   NONE     all fields zero
 *   TENSOR   a: tensor (its storage is not RUSH_NONE)
 *   INT      p0: two's complement     BOOL  p0: 0 or 1     FLOAT  p0: bits of a double
 *   COMPLEX  p0, p1: bits of two doubles, real and imaginary
 *   STR      a: string                DEVICE  a: string, e.g. "cpu"
 *   LIST, TUPLE, DICT  a: list of constants, p0: its length (a dict alternates key and value),
 *            p1: type, of the same kind
 *   OBJECT   the same: its attributes in the order of the type, whose number they are
 *   ENUM     the same with two items: a string, the member's qualified name, and its value
 *   RANDOM   a: tensor without storage, p0: seed, p1: low 32 bits and high 32 bits are the bits of
 *            two floats lo and hi. Element i (in row-major order) comes from the i-th output u of
 *            SplitMix64 started at `seed`: floating dtypes take lo + (hi - lo) * (u >> 40) * 2^-24,
 *            computed in double; integers floor(lo + (hi - lo) * (u >> 11) * 2^-53), computed in
 *            double; bool takes the top bit of u.
 *
 * OPERATORS. `name` is "namespace::name.overload", without the point if the overload is empty.
 * `schema` is the text of the schema that the exporter saw; messages show it. An instruction
 * gives the arguments in schema order and may leave out trailing arguments that equal their
 * default. A reader that knows the operator with fewer arguments refuses instructions that give
 * more.
 *
 * METHODS AND INSTRUCTIONS. The instructions of the first method start at 0, and those of each
 * other method start where the method before it ends. The last method ends at the end of the
 * section. Registers of methods are sorted and do not overlap; the same holds for the operands
 * of instructions. A method has `n_registers` registers, whose records start at `registers`. Its
 * inputs are registers 0 to n_inputs-1. Exactly one instruction writes each other register. An
 * operand with bit 31 set is a constant, and the other bits are its index; without it the
 * operand is a register. The operands of an instruction are n_in inputs, then n_out registers
 * that it writes. `target` and `op` are RUSH_NONE unless mentioned here.
 *   OP        op: operator.
 *   IF        in: a bool. out: results. target: its ELSE.
 *   ELSE      in: values of the first branch, one per result. target: its END_IF.
 *   END_IF    in: values of the second branch. target: its IF.
 *   LOOP      in: maximum number of iterations (int), whether to enter (bool), c carried values.
 *             out: c results, the iteration's index (int), c carried values inside.
 *             target: its END_LOOP.
 *   END_LOOP  in: whether to continue (bool), c carried values. target: its LOOP.
 *   RETURN    in: the result. It is the last instruction of a method, and occurs only there.
 * IF..ELSE..END_IF and LOOP..END_LOOP nest properly, at most 64 deep. An instruction may read a
 * register if the instruction that writes it comes before it in the same block or in an
 * enclosing one.
 *
 * PORTS. Each input has a name, a type, a hint, and the default of the method's schema if there
 * is one. A method that returns a tuple has one output per item. A method that returns None has
 * no output; every other method has one.
 *
 * HINTS AND CONSTRAINTS. A hint describes the examples of the export. It gives the shape of data
 * that comes without one and the memory to plan for, and it forbids nothing. A constraint is
 * about size `dim` of the tensor at the input `port`. That size must be at least `min` and at
 * most `max`. Sizes with the same `name` (unless it is RUSH_NONE) at the inputs of one method
 * must be equal. A reader that knows the section refuses a run whose inputs violate a
 * constraint. Records are sorted by port, then by dim. The program's own instructions check all
 * other conditions of an exported program.
 *
 * TESTS. The inputs are a TUPLE constant with one item per input, and the output is a constant.
 * The answer of the method must be close to the output as torch.allclose(rtol, atol,
 * equal_nan=True) defines it. Values that are not floating point must be equal. Tensors with one
 * storage alias each other.
 * MEASURES refine this. A test has no measures, or one for each tensor, int, float, complex and
 * bool of its output, in their order. `exact` is the constant that the program gave for that
 * value in float64, or RUSH_NONE. It is a tensor of the same sizes, in float64 if the output is
 * floating point, or a number of the output's kind. The value is then compared by the rule of
 * rushlight/verdict.h, with the measure's own tolerances.
 *
 * ASSETS. An asset is a range of bytes after the last storage, which the program does not read:
 * a tokenizer, the names of classes, a licence. `offset` counts from head_bytes and is a multiple
 * of 64. Ranges do not overlap. Names are strings of 1 to 255 bytes, and distinct. The records are
 * sorted by offset, and by the bytes of their names. `sha256` is the digest of the range. Loading a
 * model does not compare it: whoever reads an asset does, and refuses other bytes.
 *
 * COMPATIBILITY. Version 1 is the format of the first release. From that release on, a reader of
 * version 1 loads every file of version 1. New meaning comes as a new optional section, a new
 * feature bit, or a new version; records never change their width. A reader refuses an unknown
 * version, feature, required section, kind, dtype or operator, and names it. */
#ifndef RUSHLIGHT_FORMAT_H
#define RUSHLIGHT_FORMAT_H

#include <stdint.h>

/* The first 8 bytes of a file. */
#define RUSH_MAGIC "\x89RUSH\r\n\x1a"
/* The limits and sizes that the text above mentions. */
enum {
  RUSH_FORMAT_VERSION = 1,
  RUSH_HEADER_BYTES = 64,
  RUSH_MAX_SECTIONS = 64,
  RUSH_MAX_HEAD_BYTES = 64 << 20,
  RUSH_MAX_RANK = 8,
  RUSH_MAX_NESTING = 64,
  RUSH_MAX_METHODS = 4096,
  RUSH_MAX_OPS = 16384,
  RUSH_MAX_CONSTRAINTS = 4096,
  RUSH_MAX_ASSETS = 4096,
  RUSH_MAX_ASSET_NAME = 255,      /* bytes */
  RUSH_MAX_TYPE_PARTS = 4096,     /* plus the count of section 0x03 */
  RUSH_MAX_CONST_PARTS = 1 << 18, /* plus the count of section 0x03 */
  RUSH_ALIGN = 64,                /* alignment of the weights and of each storage, in bytes */
};
/* Stands for "no index". */
#define RUSH_NONE 0xFFFFFFFFu
/* Marks an operand that is a constant. */
#define RUSH_OPERAND_CONSTANT 0x80000000u

/* Dtypes have the numbers of PyTorch's ScalarType (c10/core/ScalarType.h). Reserved ones are
 * refused by name. */
typedef enum rush_dtype {
  RUSH_UINT8 = 0,
  RUSH_INT8 = 1,
  RUSH_INT16 = 2,
  RUSH_INT32 = 3,
  RUSH_INT64 = 4,
  RUSH_FLOAT16 = 5,
  RUSH_FLOAT32 = 6,
  RUSH_FLOAT64 = 7,
  RUSH_COMPLEX64 = 9,   /* two float32: the real part, then the imaginary part */
  RUSH_COMPLEX128 = 10, /* two float64 */
  RUSH_BOOL = 11,
  /* Only programs make these three. A file stores their integers, and instructions with the
   * scales. */
  RUSH_QINT8 = 12,
  RUSH_QUINT8 = 13,
  RUSH_QINT32 = 14,
  RUSH_BFLOAT16 = 15,
  RUSH_DTYPE_UNKNOWN = 255, /* only in hints */
} rush_dtype;

/* The ids of sections. */
typedef enum rush_section_id {
  RUSH_SEC_STRING_BYTES = 0x01,
  RUSH_SEC_STRINGS = 0x02,
  RUSH_SEC_LISTS = 0x03,
  RUSH_SEC_TYPES = 0x04,
  RUSH_SEC_STORAGES = 0x05,
  RUSH_SEC_TENSORS = 0x06,
  RUSH_SEC_CONSTANTS = 0x07,
  RUSH_SEC_OPS = 0x08,
  RUSH_SEC_ATTRIBUTES = 0x09,
  RUSH_SEC_HINTS = 0x0A,
  RUSH_SEC_PORTS = 0x0B,
  RUSH_SEC_REGISTERS = 0x0C,
  RUSH_SEC_OPERANDS = 0x0D,
  RUSH_SEC_INSTRS = 0x0E,
  RUSH_SEC_METHODS = 0x0F,
  RUSH_SEC_UNIFORM = 0x10,
  RUSH_SEC_OPTIONAL = 0x100, /* a reader may skip sections from this id on */
  RUSH_SEC_SOURCES = 0x100,
  RUSH_SEC_TESTS = 0x101,
  RUSH_SEC_META = 0x102,
  RUSH_SEC_TEXTS = 0x103,
  RUSH_SEC_TRACED = 0x104,
  RUSH_SEC_CONSTRAINTS = 0x105,
  RUSH_SEC_MEASURES = 0x106,
  RUSH_SEC_EXACT = 0x107,
  RUSH_SEC_ASSETS = 0x108,
} rush_section_id;

/* The kinds of types. */
typedef enum rush_type_kind {
  RUSH_TYPE_NONE = 0,
  RUSH_TYPE_TENSOR = 1,
  RUSH_TYPE_INT = 2,
  RUSH_TYPE_FLOAT = 3,
  RUSH_TYPE_BOOL = 4,
  RUSH_TYPE_COMPLEX = 5,
  RUSH_TYPE_STR = 6,
  RUSH_TYPE_LIST = 7,
  RUSH_TYPE_TUPLE = 8,
  RUSH_TYPE_DICT = 9,
  RUSH_TYPE_OPTIONAL = 10,
  RUSH_TYPE_UNION = 11,
  RUSH_TYPE_ANY = 12,
  RUSH_TYPE_NUMBER = 13, /* int, float or complex; PyTorch's Scalar */
  RUSH_TYPE_DEVICE = 14,
  RUSH_TYPE_GENERATOR = 15,
  RUSH_TYPE_FUTURE = 16,
  RUSH_TYPE_OBJECT = 17,
  RUSH_TYPE_ENUM = 18,
} rush_type_kind;

/* The kinds of constants. */
typedef enum rush_const_kind {
  RUSH_CONST_NONE = 0,
  RUSH_CONST_TENSOR = 1,
  RUSH_CONST_INT = 2,
  RUSH_CONST_FLOAT = 3,
  RUSH_CONST_BOOL = 4,
  RUSH_CONST_COMPLEX = 5,
  RUSH_CONST_STR = 6,
  RUSH_CONST_LIST = 7,
  RUSH_CONST_TUPLE = 8,
  RUSH_CONST_DICT = 9,
  RUSH_CONST_DEVICE = 10,
  RUSH_CONST_RANDOM = 11,
  RUSH_CONST_OBJECT = 12,
  RUSH_CONST_ENUM = 13,
} rush_const_kind;

/* The instructions. */
typedef enum rush_opcode {
  RUSH_OPCODE_OP = 0,
  RUSH_OPCODE_IF = 1,
  RUSH_OPCODE_ELSE = 2,
  RUSH_OPCODE_END_IF = 3,
  RUSH_OPCODE_LOOP = 4,
  RUSH_OPCODE_END_LOOP = 5,
  RUSH_OPCODE_RETURN = 6,
} rush_opcode;

/* The texts that PyTorch prints about a module. */
typedef enum rush_text_kind {
  RUSH_TEXT_GRAPH = 0,
  RUSH_TEXT_CODE = 1,
  RUSH_TEXT_TREE = 2
} rush_text_kind;

typedef struct rush_file_header {
  uint8_t magic[8];
  uint32_t version, n_sections;
  uint64_t features, head_bytes, weights_bytes, file_bytes, reserved[2];
} rush_file_header; /* 64 bytes */

typedef struct rush_file_section {
  uint32_t id, count;
  uint64_t offset, bytes; /* offset from the start of the file */
} rush_file_section;      /* 24 */

typedef struct rush_file_string {
  uint32_t offset, bytes; /* without the zero byte */
} rush_file_string;       /* 8 */

typedef struct rush_file_type {
  uint16_t kind, n;
  uint32_t list, name, reserved;
} rush_file_type; /* 16 */

typedef struct rush_file_storage {
  uint64_t offset, bytes;
} rush_file_storage; /* 16 */

typedef struct rush_file_uniform {
  uint32_t storage;
  uint8_t pattern[8];
} rush_file_uniform; /* 12 */

typedef struct rush_file_tensor {
  uint8_t dtype, rank;
  uint16_t reserved0;
  uint32_t storage, name, reserved1; /* name: e.g. "conv1.weight", or RUSH_NONE */
  uint64_t offset;
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK];
} rush_file_tensor; /* 152 */

typedef struct rush_file_constant {
  uint32_t kind, a;
  uint64_t p0, p1;
} rush_file_constant; /* 24 */

typedef struct rush_file_op {
  uint32_t name, schema;
} rush_file_op; /* 8 */

typedef struct rush_file_attribute {
  uint32_t name, type, initial, reserved; /* initial: constant */
} rush_file_attribute;                    /* 16 */

typedef struct rush_file_hint {
  uint8_t dtype, rank; /* 255 where unknown */
  uint16_t reserved0;
  uint32_t reserved1;
  int64_t sizes[RUSH_MAX_RANK]; /* -1 where unknown, 0 beyond rank */
} rush_file_hint;               /* 72 */

typedef struct rush_file_port {
  uint32_t name, type, hint, initial; /* hint, initial (a constant): or RUSH_NONE */
} rush_file_port;                     /* 16 */

typedef struct rush_file_register {
  uint32_t type, name; /* name: the value's name in PyTorch's graph */
} rush_file_register;  /* 8 */

typedef struct rush_file_instr {
  uint16_t opcode, n_in, n_out, reserved;
  uint32_t op, operands, target, source; /* source: or RUSH_NONE */
} rush_file_instr;                       /* 24 */

typedef struct rush_file_method {
  uint32_t name, inputs, n_inputs, outputs, n_outputs; /* inputs, outputs: first port */
  uint32_t result;                                     /* type */
  uint32_t instrs, n_instrs, registers, n_registers;
} rush_file_method; /* 40 */

typedef struct rush_file_source {
  uint32_t file, line, function, module; /* strings (or RUSH_NONE) and a line counted from 1 */
  uint64_t handle;                       /* names the node in the unfrozen PyTorch graph; 0: none */
} rush_file_source;                      /* 24 */

typedef struct rush_file_test {
  uint32_t method, inputs, output; /* inputs, output: constants */
  float rtol, atol;
} rush_file_test; /* 20 */

typedef struct rush_file_meta {
  uint32_t key, value; /* strings */
} rush_file_meta;      /* 8 */

typedef struct rush_file_traced {
  uint32_t test, results; /* results: a TUPLE constant, one item per result of the node */
  /* As in rush_file_source, and not 0. Records are sorted by test, then by handle; those of one
   * handle have the order of PyTorch's run. */
  uint64_t handle;
} rush_file_traced; /* 16 */

typedef struct rush_file_constraint {
  uint32_t port, dim, name, reserved;
  int64_t min, max;
} rush_file_constraint; /* 32 */

typedef struct rush_file_measure {
  uint32_t test, exact; /* exact: constant, or RUSH_NONE. Sorted by test */
  float rtol, atol;
} rush_file_measure; /* 16 */

typedef struct rush_file_exact {
  uint32_t traced, results; /* traced: a rush_file_traced, sorted; results: as in that record */
} rush_file_exact;          /* 8 */

typedef struct rush_file_asset {
  uint32_t name, reserved; /* name: string */
  uint64_t offset, bytes;
  uint8_t sha256[32];
} rush_file_asset; /* 56 */

typedef struct rush_file_text {
  uint32_t module, kind, text, reserved; /* module: its path, "" for the root; text: string */
} rush_file_text;                        /* 16 */

#endif
