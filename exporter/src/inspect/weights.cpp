#include "inspect/weights.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "base/files.h"
#include "inspect/safetensors.h"
#include "run/native.h"

namespace rush {

void write_safetensors(const std::string &model_path, const std::string &out_path) {
  const std::string file = read_file(model_path);
  NativeSession session(file);
  const size_t most = std::max(size_t{1} << 30, 64 * file.size());
  const std::vector<std::string> pieces =
      safetensors_of(session.ctx(), session.model(), file, most);
  std::ofstream out(out_path, std::ios::binary | std::ios::trunc);
  for (const std::string &piece : pieces)
    out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  out.close();
  if (!out) throw std::runtime_error(out_path + " could not be written");
}

}  // namespace rush
