// The C functions of librushlight_native, which Python calls with ctypes. Requests and answers are
// JSON, so that the library depends on no version of Python or PyTorch.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RUSHLIGHT_API __attribute__((visibility("default")))

// Functions of Python's stable C interface: PyEval_SaveThread, PyEval_RestoreThread,
// PyGILState_Ensure, PyGILState_Release and PyErr_CheckSignals. All may be NULL.
typedef struct rushlight_python {
  void *(*save_thread)(void);
  void (*restore_thread)(void *state);
  int (*ensure_lock)(void);
  void (*release_lock)(int state);
  int (*check_signals)(void);
} rushlight_python;

// `ask` answers a question of the library by a call of rushlight_answer.
RUSHLIGHT_API void rushlight_start(rushlight_python python,
                                   void (*ask)(const char *what, const char *request));

// Calls a function by its name. The caller holds Python's lock, which long functions release. The
// answer is {"ok": ...} or {"error": ...}, and is valid until the thread's next call. If a signal's
// handler raised an exception, the exception is pending, and the answer has no meaning.
RUSHLIGHT_API const char *rushlight_call(const char *function, const char *request);

// Gives the answer to a question: {"ok": ...}, or {"error": {"message": ..., "exception": number}}.
RUSHLIGHT_API void rushlight_answer(const char *text);

// Releases the memory of a result's storage.
RUSHLIGHT_API void rushlight_release(int64_t storage);

#ifdef __cplusplus
}
#endif
