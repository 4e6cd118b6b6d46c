// JSON as Python's json module writes it, with NaN, Infinity and whole numbers of 64 bits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rush {

class Json {
 public:
  enum Kind { NONE, BOOL, INT, FLOAT, TEXT, LIST, OBJECT };

  Kind kind = NONE;
  int64_t i = 0;  // of BOOL and INT
  double f = 0;
  std::string s;
  std::vector<Json> items;                           // of LIST
  std::vector<std::pair<std::string, Json>> fields;  // of OBJECT

  bool is_none() const { return kind == NONE; }
  // Returns the field of that name, or nullptr if there is none.
  const Json *find(const std::string &name) const;
  // These throw std::invalid_argument for another kind, or if there is no such field.
  const Json &operator[](const std::string &name) const;
  bool boolean() const;
  int64_t integer() const;
  double number() const;  // of INT, too
  const std::string &text() const;
  const std::vector<Json> &list() const;
  std::vector<int64_t> integers() const;
  std::vector<std::string> texts() const;

 private:
  void require(Kind wanted) const;
};

// Throws std::invalid_argument.
Json parse_json(std::string_view text);

// Returns the text of a list of texts that are JSON already.
std::string json_list(const std::vector<std::string> &items);
std::string json_integers(const std::vector<int64_t> &values);
std::string json_texts(const std::vector<std::string> &values);
// A number with all of its digits, NaN and Infinity included.
std::string json_float(double x);

}  // namespace rush
