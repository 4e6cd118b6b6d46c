// The native runtime, through its public C API.
#pragma once

#include <atomic>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime_error.h"
#include "ir/program.h"
#include "rushlight/rushlight.h"

namespace rush {

// The limits of a session.
struct Limits {
  size_t bytes = 0;             // of memory; 0: no limit
  uint64_t steps = 0;           // instructions of a run; 0: no limit
  rush_poll_fn poll = nullptr;  // long calls ask it whether to stop
  unsigned threads = 1;         // for long operators
};

class NativeSession {
 public:
  // Loads a whole file. It keeps no reference to `bytes`.
  explicit NativeSession(const std::string &bytes, const Limits &limits = {});
  // Loads a file from its first byte on, without a copy of its weights.
  explicit NativeSession(std::ifstream &file, const Limits &limits = {});
  // Makes another session of the model of `other`. A second thread may use `other` meanwhile.
  NativeSession(const NativeSession &other, const Limits &limits);
  ~NativeSession();
  NativeSession(const NativeSession &) = delete;

  static std::unique_ptr<NativeSession> open(const std::string &path, const Limits &limits = {});

  // A caller's turn at the session. The constructor throws RuntimeError while another thread has a
  // turn, and if a run's print function or signal handler calls it.
  class Turn {
   public:
    explicit Turn(NativeSession &of);
    ~Turn() { of_.busy_.clear(); }
    Turn(const Turn &) = delete;

   private:
    NativeSession &of_;
  };

  // Arguments that share a storage share memory in the runtime, too. They are copied, and the
  // caller's arguments stay unchanged.
  Const run(size_t method, const std::vector<Const> &args);
  // `print` receives the text that the program prints. Without this call the text is dropped. If it
  // throws, the call that runs the program throws the same.
  using Print = std::function<void(const std::string &text)>;
  void set_print(Print print);
  // Returns copies of the attributes that the program writes, by name. Tensors that share memory
  // also share it in the copy.
  std::vector<std::pair<std::string, Const>> state();
  // Sets some of them. Throws RuntimeError for a value of another type.
  void set_state(const std::vector<std::pair<size_t, Const>> &values);
  size_t attribute(const std::string &name) const;  // throws std::invalid_argument
  void reset();
  void manual_seed(uint64_t seed) { rush_session_manual_seed(session_, seed); }
  size_t test_count() const;
  // Throws RuntimeError if the answer differs. The report has the differences in any case.
  void verify(size_t test, rush_verify_report *report);

  // These types have the fields of named tuples.
  const std::vector<TypeRef> &input_types(size_t method);
  const TypeRef &result_type(size_t method);
  size_t method(const std::string &name) const;  // throws std::invalid_argument
  const rush_model *model() const { return loaded_->model; }
  rush_ctx *ctx() const { return ctx_.get(); }
  rush_session *get() const { return session_; }
  void check(rush_status status) const;

 private:
  bool read_some(std::ifstream &file, rush_loader *loader);
  using Context = std::shared_ptr<rush_ctx>;
  struct Loaded {  // a model, and the context that loaded it
    ~Loaded() { rush_model_destroy(ctx.get(), model); }
    Context ctx;
    rush_model *model = nullptr;
  };
  static Context make_context(const Limits &limits);
  void make_session(const Limits &limits);
  void print(const std::string &text);
  void finish(rush_status status);  // throws what the print function threw, or check(status)

  Context ctx_;
  std::shared_ptr<Loaded> loaded_;
  rush_session *session_ = nullptr;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  Print print_;
  std::exception_ptr failed_print_;
  // The input types of the methods that a caller has used.
  std::map<size_t, std::vector<TypeRef>> input_types_;
  std::map<size_t, TypeRef> result_types_;
};

// Writes the program as it is and loads it. Throws RuntimeError.
using Opener = std::function<std::unique_ptr<NativeSession>(const Program &program)>;

// Describes a file. It reads only the head, and also lists the operators that the runtime lacks.
std::string describe_file(const std::string &path, rush_describe_form form);

}  // namespace rush
