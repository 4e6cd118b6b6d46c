#include "api/python.h"

#include <chrono>
#include <exception>

#include "ir/answers.h"

namespace rush {

namespace {

rushlight_python python;
void (*ask)(const char *what, const char *request);
thread_local std::string given_answer;

// Holds Python's lock while it lives.
class Locked {
 public:
  Locked() : state_(python.ensure_lock ? python.ensure_lock() : 0) {}
  ~Locked() {
    if (python.release_lock) python.release_lock(state_);
  }
  Locked(const Locked &) = delete;

 private:
  int state_;
};

bool has_signal() {
  const Locked lock;
  return python.check_signals && python.check_signals() != 0;
}

}  // namespace

Unlocked::Unlocked() : state_(python.save_thread ? python.save_thread() : nullptr) {}

Unlocked::~Unlocked() {
  if (python.restore_thread) python.restore_thread(state_);
}

bool is_interrupted(void *) {
  thread_local std::chrono::steady_clock::time_point last;
  const auto now = std::chrono::steady_clock::now();
  if (now - last < std::chrono::milliseconds(50)) return false;
  last = now;
  return has_signal();
}

// A signal that came before the call would be raised in front of the first line of Python's function,
// where nothing catches it.
Json ask_python(const std::string &what, const std::string &request) {
  if (has_signal()) throw Interrupted();
  given_answer.clear();
  ask(what.c_str(), request.c_str());
  const Json answer = parse_json(given_answer);
  const Json *error = answer.find("error");
  if (!error) return answer["ok"];
  throw PyTorchError((*error)["message"].text(),
                     std::make_exception_ptr(PythonException{(*error)["exception"].integer()}));
}

}  // namespace rush

void rushlight_start(rushlight_python given, void (*ask)(const char *, const char *)) {
  rush::python = given;
  rush::ask = ask;
}

void rushlight_answer(const char *text) {
  rush::given_answer = text;
}
