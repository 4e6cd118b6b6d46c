#include "inspect/weights.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>
#include <vector>

#include "base/files.h"
#include "run/native.h"

namespace rush {

namespace {

struct DtypeText {
  rush_dtype dtype;
  const char *name;
  size_t bytes;
};
constexpr DtypeText kDtypes[] = {{RUSH_UINT8, "U8", 1},    {RUSH_INT8, "I8", 1},
                                 {RUSH_INT16, "I16", 2},   {RUSH_INT32, "I32", 4},
                                 {RUSH_INT64, "I64", 8},   {RUSH_FLOAT16, "F16", 2},
                                 {RUSH_FLOAT32, "F32", 4}, {RUSH_FLOAT64, "F64", 8},
                                 {RUSH_BOOL, "BOOL", 1},   {RUSH_BFLOAT16, "BF16", 2}};

const DtypeText &text_of(rush_dtype dtype) {
  for (const DtypeText &row : kDtypes)
    if (row.dtype == dtype) return row;
  throw std::invalid_argument("a dtype that .safetensors does not have");
}

std::string json_string(const std::string &s) {
  std::string out = "\"";
  for (char c : s) {
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned char>(c));
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < ' ')
      out += code;
    else
      out += c;
  }
  return out + "\"";
}

// How many elements there are. Strides of 0 make many of few bytes: more than 64 for each byte of
// the file, and more than a gigabyte, are refused.
int64_t elements(const rush_weight_info &w, size_t file_bytes, size_t item) {
  const size_t most = std::max(size_t{1} << 30, 64 * file_bytes) / item;
  size_t numel = 1;
  for (int d = 0; d < w.rank; d++) {
    const auto size = static_cast<size_t>(w.sizes[d]);
    if (size == 0) return 0;
    if (numel > most / size)
      throw std::invalid_argument("the tensor '" + std::string(w.name) +
                                  "' is too large to be written out: more than " +
                                  std::to_string(most) + " elements");
    numel *= size;
  }
  return static_cast<int64_t>(numel);
}

// The elements in row-major order.
std::string gather(const std::string &file, const rush_weight_info &w, size_t item) {
  const int64_t numel = elements(w, file.size(), item);
  std::string out(static_cast<size_t>(numel) * item, '\0');
  std::vector<int64_t> at(static_cast<size_t>(w.rank), 0);
  for (int64_t i = 0; i < numel; i++) {
    int64_t from = 0;
    for (size_t d = 0; d < at.size(); d++) from += at[d] * w.strides[d];
    std::memcpy(out.data() + static_cast<size_t>(i) * item,
                file.data() + w.file_offset + static_cast<uint64_t>(from) * item, item);
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < w.sizes[d]) break;
      at[d] = 0;
    }
  }
  return out;
}

}  // namespace

void write_safetensors(const std::string &model_path, const std::string &out_path) {
  const std::string file = read_file(model_path);
  NativeSession session(file);
  std::map<std::string, std::pair<std::string, std::string>> tensors;  // name: JSON, bytes
  for (size_t i = 0; i < rush_model_weight_count(session.model()); i++) {
    rush_weight_info w;
    // A tensor without storage only describes a random input; one without a name is of a test
    // vector.
    if (rush_model_weight(session.ctx(), session.model(), i, &w) != RUSH_OK) continue;
    if (!w.name || !*w.name) continue;
    const DtypeText &dtype = text_of(w.dtype);
    std::string shape;
    for (int d = 0; d < w.rank; d++) shape += (d ? "," : "") + std::to_string(w.sizes[d]);
    const std::string json =
        std::string("{\"dtype\":\"") + dtype.name + "\",\"shape\":[" + shape + "]";
    const std::string bytes = gather(file, w, dtype.bytes);
    std::string name = w.name;
    for (int n = 1; tensors.count(name) && tensors[name] != std::make_pair(json, bytes); n++)
      name = std::string(w.name) + "." + std::to_string(n);  // another view under the same name
    tensors[name] = {json, bytes};
  }
  std::string header = "{";
  size_t at = 0;
  for (const auto &[name, tensor] : tensors) {
    const auto &[json, bytes] = tensor;
    header += (header.size() > 1 ? "," : "") + json_string(name) + ":" + json +
              ",\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(at + bytes.size()) +
              "]}";
    at += bytes.size();
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::ofstream out(out_path, std::ios::binary | std::ios::trunc);
  uint64_t n = header.size();
  char size[8];
  for (int i = 0; i < 8; i++) size[i] = static_cast<char>(n >> (8 * i) & 0xFF);
  out.write(size, 8);
  out << header;
  for (const auto &[name, tensor] : tensors)
    out.write(tensor.second.data(), static_cast<std::streamsize>(tensor.second.size()));
  out.close();
  if (!out) throw std::runtime_error(out_path + " could not be written");
}

}  // namespace rush
