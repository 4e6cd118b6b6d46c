#include "signals.h"

#include <dlfcn.h>

#include <chrono>

namespace rush {

namespace {

// Python's C API, as far as the process has one: the library is not linked with it. An object is a
// void *.
struct Python {
  template <class F>
  static void find(F **function, const char *name) {
    *function = reinterpret_cast<F *>(dlsym(RTLD_DEFAULT, name));
  }
  Python() {
    find(&is_initialized, "Py_IsInitialized");
    find(&lock, "PyGILState_Ensure");
    find(&unlock, "PyGILState_Release");
    find(&check_signals, "PyErr_CheckSignals");
    find(&error, "PyErr_Occurred");
    find(&clear_error, "PyErr_Clear");
    find(&this_thread, "PyThread_get_thread_ident");
    find(&raise_in_thread, "PyThreadState_SetAsyncExc");
  }
  bool is_here() const {
    return is_initialized && lock && unlock && check_signals && error && clear_error &&
           this_thread && raise_in_thread && is_initialized();
  }

  int (*is_initialized)();
  int (*lock)();
  void (*unlock)(int);
  int (*check_signals)();
  void *(*error)();
  void (*clear_error)();
  unsigned long (*this_thread)();
  int (*raise_in_thread)(unsigned long thread, void *exception);
};

}  // namespace

bool interrupted_in_python(void *) {
  static const Python python;
  thread_local std::chrono::steady_clock::time_point last;
  const auto now = std::chrono::steady_clock::now();
  if (now - last < std::chrono::milliseconds(50) || !python.is_here()) return false;
  last = now;
  const int state = python.lock();
  const bool raised = python.check_signals() != 0;
  if (raised) {
    // libtorch would replace it by its own error.
    python.raise_in_thread(python.this_thread(), python.error());
    python.clear_error();
  }
  python.unlock(state);
  return raised;
}

}  // namespace rush
