#include "inspect/safetensors.h"

#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "base/json.h"

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

// Returns the number of elements. Throws if they take more than `most` bytes.
int64_t elements(const rush_weight_info &w, size_t most, size_t item) {
  size_t numel = 1;
  for (int d = 0; d < w.rank; d++) {
    const auto size = static_cast<size_t>(w.sizes[d]);
    if (size == 0) return 0;
    if (numel > most / item / size)
      throw std::invalid_argument("the tensor '" + std::string(w.name) +
                                  "' is too large to be written out");
    numel *= size;
  }
  return static_cast<int64_t>(numel);
}

// Returns the elements in row-major order.
std::string gather(std::string_view file, const rush_weight_info &w, size_t most, size_t item) {
  const int64_t numel = elements(w, most, item);
  std::string out(static_cast<size_t>(numel) * item, '\0');
  std::vector<int64_t> at(static_cast<size_t>(w.rank), 0);
  for (int64_t i = 0; i < numel; i++) {
    int64_t from = 0;
    for (size_t d = 0; d < at.size(); d++) from += at[d] * w.strides[d];
    const uint64_t byte = w.file_offset + static_cast<uint64_t>(from) * item;
    std::memcpy(
        out.data() + static_cast<size_t>(i) * item,
        w.pattern ? reinterpret_cast<const char *>(w.pattern) + byte % 8 : file.data() + byte,
        item);
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < w.sizes[d]) break;
      at[d] = 0;
    }
  }
  return out;
}

struct Tensor {
  std::string json, bytes;
};
// Maps the names in the new file to tensors. Its strings keep their addresses.
using Tensors = std::map<std::string, Tensor>;

Tensors tensors_of(rush_ctx *ctx, const rush_model *model, std::string_view file, size_t most) {
  Tensors out;
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
  std::map<std::string_view, int> views;  // with the same name
  for (size_t i = 0; i < rush_model_weight_count(model); i++) {
    rush_weight_info w;
    // A tensor without storage only describes a random input. A tensor without a name belongs to a
    // test vector.
    if (rush_model_weight(ctx, model, i, &w) != RUSH_OK) continue;
    if (!w.name || !*w.name) continue;
    const DtypeText &dtype = text_of(w.dtype);
    std::string shape;
    for (int d = 0; d < w.rank; d++) shape += (d ? "," : "") + std::to_string(w.sizes[d]);
    Tensor tensor{std::string("{\"dtype\":\"") + dtype.name + "\",\"shape\":[" + shape + "]",
                  gather(file, w, most, dtype.bytes)};
    if (seen.count({w.name, tensor.json, tensor.bytes})) continue;
    most -= tensor.bytes.size();
    std::string name = w.name;
    while (out.count(name)) name = std::string(w.name) + "." + std::to_string(++views[w.name]);
    const Tensor &kept = out.emplace(name, std::move(tensor)).first->second;
    seen.insert({w.name, kept.json, kept.bytes});
  }
  return out;
}

}  // namespace

std::vector<std::string> safetensors_of(rush_ctx *ctx, const rush_model *model,
                                        std::string_view file, size_t most) {
  Tensors tensors = tensors_of(ctx, model, file, most);
  std::string header = "{";
  size_t at = 0;
  for (const auto &[name, tensor] : tensors) {
    header += (header.size() > 1 ? "," : "") + json_text(name) + ":" + tensor.json +
              ",\"data_offsets\":[" + std::to_string(at) + "," +
              std::to_string(at + tensor.bytes.size()) + "]}";
    at += tensor.bytes.size();
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string start;
  for (int i = 0; i < 8; i++) start += static_cast<char>(uint64_t{header.size()} >> (8 * i) & 0xFF);
  std::vector<std::string> out{start + header};
  for (auto &[name, tensor] : tensors) out.push_back(std::move(tensor.bytes));
  return out;
}

}  // namespace rush
