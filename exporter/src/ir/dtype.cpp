#include "ir/dtype.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

namespace rush {

namespace {

enum Class { INTEGER, FLOAT, COMPLEX, QUANTIZED };

struct Row {
  int dtype;
  const char *name;
  size_t bytes;
  Class of = INTEGER;
};
constexpr Row kRows[] = {{RUSH_UINT8, "uint8", 1},
                         {RUSH_INT8, "int8", 1},
                         {RUSH_INT16, "int16", 2},
                         {RUSH_INT32, "int32", 4},
                         {RUSH_INT64, "int64", 8},
                         {RUSH_FLOAT16, "float16", 2, FLOAT},
                         {RUSH_FLOAT32, "float32", 4, FLOAT},
                         {RUSH_FLOAT64, "float64", 8, FLOAT},
                         {8, "complex32", 4, COMPLEX},
                         {RUSH_COMPLEX64, "complex64", 8, COMPLEX},
                         {RUSH_COMPLEX128, "complex128", 16, COMPLEX},
                         {RUSH_BOOL, "bool", 1},
                         {RUSH_QINT8, "qint8", 1, QUANTIZED},
                         {RUSH_QUINT8, "quint8", 1, QUANTIZED},
                         {RUSH_QINT32, "qint32", 4, QUANTIZED},
                         {RUSH_BFLOAT16, "bfloat16", 2, FLOAT},
                         {27, "uint16", 2},
                         {28, "uint32", 4},
                         {29, "uint64", 8}};

const Row *row_of(rush_dtype dtype) {
  for (const Row &row : kRows)
    if (row.dtype == static_cast<int>(dtype)) return &row;
  return nullptr;
}

bool is(rush_dtype dtype, Class of) {
  const Row *row = row_of(dtype);
  return row && row->of == of;
}

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

const char *dtype_name(rush_dtype dtype) {
  const Row *row = row_of(dtype);
  return row ? row->name : "unknown";
}

std::optional<rush_dtype> find_dtype(const std::string &name) {
  for (const Row &row : kRows)
    if (row.name == name) return static_cast<rush_dtype>(row.dtype);
  return std::nullopt;
}

rush_dtype dtype_from_name(const std::string &name) {
  if (const auto dtype = find_dtype(name)) return *dtype;
  throw std::invalid_argument("'" + name + "' is not a dtype that Rushlight knows");
}

size_t dtype_bytes(rush_dtype dtype) {
  const Row *row = row_of(dtype);
  return row ? row->bytes : 0;
}

bool is_floating_point(rush_dtype dtype) {
  return is(dtype, FLOAT);
}

bool is_complex(rush_dtype dtype) {
  return is(dtype, COMPLEX);
}

bool is_quantized(rush_dtype dtype) {
  return is(dtype, QUANTIZED);
}

rush_dtype real_dtype(rush_dtype dtype) {
  if (!is_complex(dtype)) return dtype;
  return dtype == RUSH_COMPLEX128  ? RUSH_FLOAT64
         : dtype == RUSH_COMPLEX64 ? RUSH_FLOAT32
                                   : RUSH_FLOAT16;
}

uint16_t half_bits(float value) {
  const uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
  if (rest > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00);  // NaN
  if (rest >= 0x47800000) return static_cast<uint16_t>(sign | 0x7C00);
  // Below the smallest normal number, the sum's last bit is the half's. The hardware rounds it.
  if (rest < 0x38800000)
    return static_cast<uint16_t>(sign | (bits_of(float_of(rest) + 0.5f) - bits_of(0.5f)));
  const uint32_t odd = rest >> 13 & 1;
  return static_cast<uint16_t>(sign | ((rest - 0x38000000 + 0xFFF + odd) >> 13));
}

float from_half_bits(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, exponent = bits >> 10 & 31,
                 mantissa = bits & 0x3FF;
  if (exponent == 31) return float_of(sign | 0x7F800000 | mantissa << 13);
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                   : std::ldexp(static_cast<float>(mantissa | 0x400),
                                                static_cast<int>(exponent) - 25);
  return sign ? -size : size;
}

uint16_t bfloat_bits(float value) {
  if (std::isnan(value)) return 0x7FC0;
  const uint32_t bits = bits_of(value);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float from_bfloat_bits(uint16_t bits) {
  return float_of(static_cast<uint32_t>(bits) << 16);
}

}  // namespace rush
