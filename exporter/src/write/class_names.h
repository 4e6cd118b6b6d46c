// Names of TorchScript classes that do not depend on what else the process has compiled.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace rush {

// Classes of one name are told apart by a number that counts in the process,
// "__torch__.net.___torch_mangle_7.Net". Here it counts in the file: the first one that the file
// names has none, so that exporting twice gives the same bytes.
class ClassNames {
 public:
  // The text with all class names in it as the file has them.
  std::string in(const std::string &text);

 private:
  std::string one(const std::string &name);

  std::map<std::string, std::vector<std::string>> seen_;  // by the plain name: the numbers
};

}  // namespace rush
