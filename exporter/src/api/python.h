// Python's side of a call: its lock, signals, and questions.
#pragma once

#include <string>

#include "api/api.h"
#include "api/json.h"

namespace rush {

// A signal's handler raised an exception, which is pending in Python.
struct Interrupted {};

// An exception that a question raised, by its number in Python.
struct PythonException {
  int64_t number;
};

// Releases Python's lock while it lives.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked &) = delete;

 private:
  void *state_;
};

// A rush_poll_fn. It returns whether a signal's handler raised an exception, as Ctrl-C does.
// The runtime calls it often and without Python's lock. It takes the lock twenty times a second.
bool is_interrupted(void *);

// Asks Python. Throws Interrupted, and PyTorchError whose original is a PythonException.
Json ask_python(const std::string &what, const std::string &request);

}  // namespace rush
