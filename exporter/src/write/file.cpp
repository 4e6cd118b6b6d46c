#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "write/encode.h"

namespace rush {

namespace {

// Describes errno for the user's `path`.
[[noreturn]] void fail(const std::string &path) {
  const std::string why = std::strerror(errno);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (errno == ENOENT && !folder.empty() && !std::filesystem::exists(folder, ignored))
    throw std::runtime_error(path + " could not be written: there is no folder " + folder.string());
  throw std::runtime_error(path + " could not be written: " + why);
}

class Descriptor {
 public:
  // Creates `temporary`. Messages name it `path`, which it becomes.
  Descriptor(const std::string &temporary, const std::string &path)
      : path_(path), fd_(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail(path);
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  void put(const void *data, uint64_t n) {
    const char *at = static_cast<const char *>(data);
    while (n > 0) {
      const size_t chunk = n < (1u << 30) ? static_cast<size_t>(n) : (1u << 30);
      ssize_t wrote = write(fd_, at, chunk);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) fail(path_);
      at += wrote;
      n -= static_cast<uint64_t>(wrote);
    }
  }
  void finish() {
    if (fsync(fd_) != 0) fail(path_);
    int fd = fd_;
    fd_ = -1;
    if (close(fd) != 0) fail(path_);
  }

 private:
  std::string path_;
  int fd_;
};

// Returns a new path beside the file. Each call gives another path, because one may be written
// while another is verified.
std::string temporary_of(const std::string &path) {
  static std::atomic<uint64_t> created{0};
  return path + ".part-" + std::to_string(getpid()) + "-" + std::to_string(created++);
}

// Writes the storages, then the assets, with zeros between them.
void put_weights(Descriptor *file, const Encoded &encoded) {
  static const char zeros[RUSH_ALIGN] = {};
  uint64_t at = 0;
  auto put = [&](const uint8_t *data, uint64_t bytes, uint64_t offset) {
    file->put(zeros, offset - at);
    file->put(data, bytes);
    at = offset + bytes;
  };
  for (const StorageBytes &s : encoded.storages) put(s.data, s.stored(), s.offset);
  for (const AssetBytes &a : encoded.assets) put(a.data, a.bytes, a.offset);
  file->put(zeros, encoded.weights_bytes - at);
}

}  // namespace

PendingFile::PendingFile(const Encoded &encoded, std::string path)
    : path_(std::move(path)), temporary_(temporary_of(path_)) {
  unlink(temporary_.c_str());  // it may be left from an earlier process with this number
  Descriptor file(temporary_, path_);
  try {
    file.put(encoded.head.data(), encoded.head.size());
    put_weights(&file, encoded);
    file.finish();
  } catch (...) {
    unlink(temporary_.c_str());
    throw;
  }
}

PendingFile::~PendingFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void PendingFile::commit() {
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_);
  temporary_.clear();
}

}  // namespace rush
