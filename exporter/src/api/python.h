// Python's side of a call: its lock, signals, and questions.
#pragma once

#include <functional>
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

// Sets the functions of rushlight_start.
void use_python(rushlight_python functions, void (*ask)(const char *what, const char *request));

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

// Asks Python, and lets `take` read the answer. The memory of its tensors lives as long as `take`
// runs. Throws Interrupted, what `take` throws, and PyTorchError whose original is a
// PythonException. An exception that is not an error, such as KeyboardInterrupt, is thrown as
// PythonException.
void ask_python(const std::string &what, const std::string &request,
                const std::function<void(const Json &answer)> &take);
Json ask_python(const std::string &what, const std::string &request);

}  // namespace rush
