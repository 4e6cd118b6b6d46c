// Objects that Python knows by number.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace rush {

// Any thread may use it.
template <class T>
class HandleTable {
 public:
  int64_t add(std::shared_ptr<T> object) {
    const std::lock_guard<std::mutex> lock(mutex_);
    all_.emplace(next_, std::move(object));
    return next_++;
  }
  // Throws std::out_of_range.
  std::shared_ptr<T> get(int64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return all_.at(number);
  }
  void remove(int64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    all_.erase(number);
  }

 private:
  std::mutex mutex_;
  std::map<int64_t, std::shared_ptr<T>> all_;
  int64_t next_ = 1;
};

}  // namespace rush
