#include "base/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/runtime_error.h"

namespace rush {

std::ifstream open_file(const std::string &path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw RuntimeError(RUSH_ERR_BAD_ARGUMENT, path + " is a folder, not a file");
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw RuntimeError(RUSH_ERR_BAD_ARGUMENT, path + " cannot be read: " + std::strerror(errno));
  return file;
}

std::string read_file(const std::string &path) {
  std::ifstream file = open_file(path);
  file.seekg(0, std::ios::end);
  std::string bytes(static_cast<size_t>(file.tellg()), '\0');
  file.seekg(0);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    throw RuntimeError(RUSH_ERR_BAD_ARGUMENT, path + " cannot be read");
  return bytes;
}

namespace {

// Returns the start of a package's own path, which follows ".../site-packages/".
size_t package_start(const std::string &file) {
  for (const char *mark : {"/site-packages/", "/dist-packages/"}) {
    const size_t at = file.rfind(mark);
    if (at != std::string::npos) return at + std::string(mark).size();
  }
  return std::string::npos;
}

}  // namespace

std::string stored_path(const std::string &file) {
  // A virtual environment is often in the working folder.
  const size_t start = package_start(file);
  if (start != std::string::npos) return file.substr(start);
  std::error_code ignored;
  const std::string working_folder = std::filesystem::current_path(ignored).string() + "/";
  if (working_folder.size() > 1 && file.rfind(working_folder, 0) == 0)
    return file.substr(working_folder.size());
  if (!file.empty() && file[0] == '/') return std::filesystem::path(file).filename().string();
  return file;
}

bool is_torchs_own(const std::string &file) {
  const size_t start = package_start(file);
  const std::string path = start == std::string::npos ? file : file.substr(start);
  // Functions that replace some of PyTorch's while a model is traced.
  const std::string patches = "rushlight/front";
  const std::string folder = file.substr(0, std::min(file.rfind('/'), file.size()));
  return path.rfind("torch/", 0) == 0 || path.rfind("code/__torch__/torch/", 0) == 0 ||
         (folder.size() >= patches.size() &&
          folder.compare(folder.size() - patches.size(), patches.size(), patches) == 0);
}

}  // namespace rush
