#include "python/session.h"

#include <chrono>

#include "run/native.h"

namespace rush {

namespace {

py::dict distance_dict(const rush_distance &d) {
  py::dict out;
  out["max"] = d.max;
  out["l2"] = d.l2;
  return out;
}

// Returns whether a signal's handler raised an exception, such as KeyboardInterrupt for Ctrl-C. The
// runtime calls this every few milliseconds without Python's lock. It takes the lock twenty times a
// second.
bool interrupted(void *) {
  thread_local std::chrono::steady_clock::time_point last;
  const auto now = std::chrono::steady_clock::now();
  if (now - last < std::chrono::milliseconds(50)) return false;
  last = now;
  const py::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

// Runs f without Python's lock. An exception of a signal's handler replaces a failure.
template <class F>
auto interruptible(F f) -> decltype(f()) {
  try {
    const py::gil_scoped_release no_gil;
    return f();
  } catch (const RuntimeError &e) {
    if (e.status == RUSH_ERR_INTERRUPTED && PyErr_Occurred()) throw py::error_already_set();
    throw;
  }
}

std::unique_ptr<NativeSession> open_session(py::object from, size_t bytes, uint64_t steps,
                                            unsigned threads) {
  const bool inside = py::isinstance<py::bytes>(from);
  const std::string text = (inside ? from : py::str(from)).cast<std::string>();
  const Limits limits{bytes, steps, interrupted, threads};
  auto session = interruptible([&] {
    return inside ? std::make_unique<NativeSession>(text, limits)
                  : NativeSession::open(text, limits);
  });
  session->print_as_torch();
  return session;
}

std::unique_ptr<NativeSession> clone_session(const NativeSession &session, size_t bytes,
                                             uint64_t steps, unsigned threads) {
  auto clone = std::make_unique<NativeSession>(session, Limits{bytes, steps, interrupted, threads});
  clone->print_as_torch();
  return clone;
}

// Binds a function so that only one call at a time uses the session's context.
template <class Result, class... Arguments>
auto in_turn(Result (*f)(NativeSession &, Arguments...)) {
  return [f](NativeSession &session, Arguments... arguments) {
    const NativeSession::Turn turn(session);
    return f(session, arguments...);
  };
}

py::object run_session(NativeSession &session, const std::string &method, const py::tuple &args) {
  const size_t at = session.method(method);
  const std::vector<TypeRef> &types = session.input_types(at);
  std::vector<Const> in;
  for (py::handle arg : args) {
    const TypeRef type = in.size() < types.size() ? types[in.size()] : make_type(RUSH_TYPE_ANY);
    in.push_back(typed(from_python(as_tuples(arg, *type)), type, as_argument));
  }
  Const out = interruptible([&] { return session.run(at, in); });
  return to_python(typed(std::move(out), with_names_of_python(session.result_type(at))));
}

py::dict session_state(NativeSession &session) {
  py::dict out;
  for (auto &[name, value] : session.state()) out[py::str(name)] = to_python(std::move(value));
  return out;
}

void set_session_state(NativeSession &session, const py::dict &values) {
  std::vector<std::pair<size_t, Const>> in;
  for (const auto &[name, value] : values)
    in.emplace_back(session.attribute(py::str(name).cast<std::string>()), from_python(value));
  session.set_state(in);
}

py::tuple verify_session(NativeSession &session, size_t test) {
  rush_verify_report r = {};
  interruptible([&] { session.verify(test, &r); });
  return py::make_tuple(r.max_abs, r.max_rel, r.compared, r.measured, distance_dict(r.pytorch),
                        distance_dict(r.rushlight), distance_dict(r.difference));
}

py::str describe_session(NativeSession &session) {
  char *text;
  size_t size;
  session.check(
      rush_model_describe(session.ctx(), session.model(), RUSH_DESCRIBE_JSON, &text, &size));
  const py::str out(text);
  rush_free(session.ctx(), text, size);
  return out;
}

void reset_session(NativeSession &session) {
  session.reset();
}

void seed_session(NativeSession &session, uint64_t seed) {
  session.manual_seed(seed);
}

template <class Count, class Name>
std::vector<std::string> port_names(const NativeSession &s, const std::string &method, Count count,
                                    Name name) {
  const size_t m = s.method(method);
  std::vector<std::string> out;
  for (size_t i = 0; i < count(s.model(), m); i++) out.emplace_back(name(s.model(), m, i));
  return out;
}

}  // namespace

void define_session(py::module_ &module) {
  py::class_<NativeSession>(module, "Session")
      .def(py::init(&open_session))
      .def("clone", clone_session)
      .def("run", in_turn(run_session))
      .def("state", in_turn(session_state))
      .def("set_state", in_turn(set_session_state))
      .def("reset", in_turn(reset_session))
      .def("manual_seed", in_turn(seed_session))
      .def("verify", in_turn(verify_session))
      .def("describe", in_turn(describe_session))
      .def("test_count", &NativeSession::test_count)
      .def("stateful",
           [](const NativeSession &s) { return rush_model_attribute_count(s.model()) > 0; })
      .def("methods",
           [](const NativeSession &s) {
             std::vector<std::string> out;
             for (size_t i = 0; i < rush_model_method_count(s.model()); i++)
               out.emplace_back(rush_model_method_name(s.model(), i));
             return out;
           })
      .def("inputs",
           [](const NativeSession &s, const std::string &method) {
             return port_names(s, method, rush_model_input_count, rush_model_input_name);
           })
      .def("outputs", [](const NativeSession &s, const std::string &method) {
        return port_names(s, method, rush_model_output_count, rush_model_output_name);
      });
}

}  // namespace rush
