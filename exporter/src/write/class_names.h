// Names of TorchScript classes that do not depend on other code of the process.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace rush {

// TorchScript numbers classes of the same name within the process, as in
// "__torch__.net.___torch_mangle_7.Net". These names are numbered within the file, and the first
// class has no number, so that two exports give the same bytes.
class ClassNames {
 public:
  // Replaces all class names in the text by those of the file.
  std::string in(const std::string &text);

 private:
  std::string one(const std::string &name);

  std::map<std::string, std::vector<std::string>> seen_;  // by the plain name: the numbers
};

}  // namespace rush
