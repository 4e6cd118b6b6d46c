// Writes a program as a .rush file, whose layout is in format.h.
#pragma once

#include <string>
#include <vector>

#include "ir/constraint.h"
#include "write/storages.h"

namespace rush {

struct AssetBytes {
  const uint8_t *data;  // of the program
  uint64_t bytes, offset;
};

struct Encoded {
  std::vector<char> head;
  std::vector<StorageBytes> storages;
  std::vector<AssetBytes> assets;  // behind the storages
  uint64_t weights_bytes = 0;      // of storages and assets
  uint64_t test_bytes = 0;         // the part that only test vectors need
  uint64_t asset_bytes = 0;

  uint64_t file_bytes() const { return head.size() + weights_bytes; }
};

// `constraints` are sorted by method, input and dimension. The program must outlive the result.
// Throws std::invalid_argument if something cannot be stored.
Encoded encode(const Program &program, const std::vector<Constraint> &constraints);

// Writes beside `path`, flushes to the disk, then renames, so that there is a whole file or none.
// Throws std::runtime_error with the system's reason.
class PendingFile {
 public:
  PendingFile(const Encoded &encoded, std::string path);
  ~PendingFile();  // removes a file that was not committed
  PendingFile(const PendingFile &) = delete;

  const std::string &temporary() const { return temporary_; }
  void commit();

 private:
  std::string path_, temporary_;
};

}  // namespace rush
