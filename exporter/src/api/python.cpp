#include "api/python.h"

#include <chrono>
#include <exception>
#include <utility>

#include "ir/answers.h"

namespace rush {

namespace {

rushlight_python python;
void (*ask)(const char *what, const char *request);

// A question that Python answers now.
struct Question {
  const std::function<void(const Json &answer)> &take;
  std::exception_ptr failure;
};
thread_local Question *current_question;

[[noreturn]] void raise(const Json &error) {
  const PythonException original = {error["exception"].integer()};
  if (error["message"].is_none()) throw original;
  throw PyTorchError(error["message"].text(), std::make_exception_ptr(original));
}

void take(const Json &answer, Question *question) {
  try {
    if (const Json *error = answer.find("error")) raise(*error);
    question->take(answer["ok"]);
  } catch (...) {
    question->failure = std::current_exception();
  }
}

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

void use_python(rushlight_python functions, void (*given)(const char *, const char *)) {
  python = functions;
  ask = given;
}

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
void ask_python(const std::string &what, const std::string &request,
                const std::function<void(const Json &answer)> &take) {
  if (has_signal()) throw Interrupted();
  Question question = {take, nullptr};
  Question *const outer = std::exchange(current_question, &question);
  ask(what.c_str(), request.c_str());
  current_question = outer;
  if (question.failure) std::rethrow_exception(question.failure);
}

Json ask_python(const std::string &what, const std::string &request) {
  Json out;
  ask_python(what, request, [&](const Json &answer) { out = answer; });
  return out;
}

}  // namespace rush

void rushlight_answer(const char *text) {
  rush::Question *const question = std::exchange(rush::current_question, nullptr);
  rush::take(rush::parse_json(text), question);
  rush::current_question = question;
}
