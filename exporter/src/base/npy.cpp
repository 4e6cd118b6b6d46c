#include "base/npy.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/json.h"

namespace rush {

namespace {

struct Descr {
  const char *name;
  rush_dtype dtype;
  size_t bytes;
};
constexpr Descr kDescrs[] = {
    {"<f4", RUSH_FLOAT32, 4},   {"<f8", RUSH_FLOAT64, 8},     {"<i8", RUSH_INT64, 8},
    {"<i4", RUSH_INT32, 4},     {"|u1", RUSH_UINT8, 1},       {"|b1", RUSH_BOOL, 1},
    {"<i2", RUSH_INT16, 2},     {"|i1", RUSH_INT8, 1},        {"<f2", RUSH_FLOAT16, 2},
    {"<c8", RUSH_COMPLEX64, 8}, {"<c16", RUSH_COMPLEX128, 16}};
constexpr size_t kMostDimensions = 64;  // NumPy's own limit

std::invalid_argument bad(const std::string &why) {
  return std::invalid_argument(why);
}

// Parses the literal of a Python dict whose values are a string, a bool and a tuple of ints.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  bool accept(char c) {
    spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) throw not_understood();
  }
  void expect_end() {
    spaces();
    if (at_ != text_.size()) throw not_understood();
  }
  // No string of this header needs an escape.
  std::string_view string() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) throw not_understood();
    const std::string_view out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }
  bool boolean() {
    spaces();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return word == "True";
    }
    throw not_understood();
  }
  std::vector<int64_t> sizes() {
    std::vector<int64_t> out;
    expect('(');
    while (!accept(')')) {
      if (out.size() == kMostDimensions)
        throw bad("it must have at most " + std::to_string(kMostDimensions) + " dimensions");
      out.push_back(size());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }

 private:
  static std::invalid_argument not_understood() { return bad("its header cannot be parsed"); }
  void spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      at_++;
  }
  int64_t size() {
    spaces();
    const size_t from = at_;
    int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; at_++) {
      const int digit = text_[at_] - '0';
      if (value > (INT64_MAX - digit) / 10) throw bad("its shape is too large");
      value = 10 * value + digit;
    }
    if (at_ == from) throw not_understood();
    accept('L');  // Python 2 writes it
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Returns the number of bytes of a dense array. As in NumPy, a size of 0 counts as 1 for the limit
// of addressable memory.
size_t bytes_of(const std::vector<int64_t> &sizes, size_t item) {
  size_t bytes = item;
  bool empty = false;
  for (const int64_t n : sizes) {
    empty |= n == 0;
    if (n == 0) continue;
    if (static_cast<uint64_t>(n) > static_cast<uint64_t>(PTRDIFF_MAX) / bytes)
      throw bad("its shape is too large");
    bytes *= static_cast<size_t>(n);
  }
  return empty ? 0 : bytes;
}

// Returns the text between the magic and the elements.
std::string_view header_text(std::string_view file) {
  if (file.size() < 12 || file.substr(0, 6) != "\x93NUMPY") throw bad("it is not a .npy file");
  if (file[6] < 1 || file[6] > 3)
    throw bad("its format version must be 1, 2 or 3, got " +
              std::to_string(static_cast<unsigned char>(file[6])));
  const size_t width = file[6] == 1 ? 2 : 4;
  size_t length = 0;
  for (size_t i = width; i-- > 0;) length = length << 8 | static_cast<unsigned char>(file[8 + i]);
  if (length > file.size() - 8 - width) throw bad("its header is truncated");
  return file.substr(8 + width, length);
}

}  // namespace

NpyHeader parse_npy_header(std::string_view file) {
  const std::string_view text = header_text(file);
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> sizes;
  Literal literal(text);
  literal.expect('{');
  while (!literal.accept('}')) {
    const std::string_view key = literal.string();
    literal.expect(':');
    if (key == "descr")
      descr = literal.string();
    else if (key == "fortran_order")
      fortran_order = literal.boolean();
    else if (key == "shape")
      sizes = literal.sizes();
    else
      throw bad("its header cannot be parsed");
    if (literal.accept(',')) continue;
    literal.expect('}');
    break;
  }
  literal.expect_end();
  if (!descr || !fortran_order || !sizes) throw bad("its header cannot be parsed");
  for (const Descr &row : kDescrs) {
    if (*descr != row.name) continue;
    NpyHeader out;
    out.dtype = row.dtype;
    out.fortran_order = *fortran_order;
    out.start = static_cast<size_t>(text.data() + text.size() - file.data());
    out.bytes = bytes_of(*sizes, row.bytes);
    out.sizes = std::move(*sizes);
    if (out.bytes > file.size() - out.start) throw bad("it is truncated");
    return out;
  }
  throw bad("the dtype " + json_text(descr->substr(0, 40)) + " is not supported");
}

}  // namespace rush
