// Sessions by number.
#include <unistd.h>

#include <stdexcept>

#include "api/functions.h"
#include "api/handle_table.h"
#include "api/python.h"
#include "api/values.h"
#include "base/joined.h"
#include "base/json.h"
#include "run/native.h"
#include "run/typed.h"

namespace rush {

namespace {

HandleTable<NativeSession> &sessions() {
  static HandleTable<NativeSession> all;
  return all;
}

std::shared_ptr<NativeSession> session_of(const Json &request) {
  return sessions().get(request["session"].integer());
}

Limits limits_of(const Json &request) {
  Limits out;
  out.bytes = static_cast<size_t>(request["max_bytes"].integer());
  out.steps = static_cast<uint64_t>(request["max_steps"].integer());
  out.poll = is_interrupted;
  out.threads = static_cast<unsigned>(request["threads"].integer());
  return out;
}

// Prints to Python's sys.stdout.
std::string added(std::shared_ptr<NativeSession> session) {
  session->set_print([](const std::string &text) {
    ask_python("print", json_text(isatty(STDOUT_FILENO) ? printable(text) : text));
  });
  return std::to_string(sessions().add(std::move(session)));
}

// "source" is a path, or the address and the number of the bytes of a file.
std::string open(const Json &request) {
  const Json &source = request["source"];
  const Limits limits = limits_of(request);
  std::unique_ptr<NativeSession> session;
  {
    const Unlocked unlocked;
    if (source.kind == Json::TEXT) {
      session = NativeSession::open(source.text(), limits);
    } else {
      session = std::make_unique<NativeSession>(bytes_at(source.list().at(0), source.list().at(1)),
                                                limits);
    }
  }
  return added(std::move(session));
}

std::string clone(const Json &request) {
  return added(std::make_shared<NativeSession>(*session_of(request), limits_of(request)));
}

std::string close(const Json &request) {
  sessions().remove(request["session"].integer());
  return "null";
}

std::string run(const Json &request) {
  const auto session = session_of(request);
  const NativeSession::Turn turn(*session);
  const size_t method = session->method(request["method"].text());
  const std::vector<TypeRef> &types = session->input_types(method);
  std::vector<Const> args;
  KnownTensors known;
  for (const Json &arg : request["args"].list()) {
    const TypeRef type = args.size() < types.size() ? types[args.size()] : make_type(RUSH_TYPE_ANY);
    args.push_back(typed(const_of(arg, &known), type, as_argument));
  }
  Const result;
  {
    const Unlocked unlocked;
    result = session->run(method, args);
  }
  return ValueWriter().answer(typed(std::move(result), session->result_type(method)));
}

std::string state(const Json &request) {
  const auto session = session_of(request);
  const NativeSession::Turn turn(*session);
  ValueWriter writer;
  const std::string fields = joined(session->state(), [&](const auto &entry) {
    return json_text(entry.first) + ": " + writer.text(entry.second);
  });
  return writer.answer_with("{" + fields + "}");
}

std::string set_state(const Json &request) {
  const auto session = session_of(request);
  const NativeSession::Turn turn(*session);
  std::vector<std::pair<size_t, Const>> values;
  for (const auto &[name, value] : request["values"].fields)
    values.emplace_back(session->attribute(name), const_of(value));
  session->set_state(values);
  return "null";
}

std::string reset(const Json &request) {
  const auto session = session_of(request);
  const NativeSession::Turn turn(*session);
  session->reset();
  return "null";
}

std::string manual_seed(const Json &request) {
  const auto session = session_of(request);
  const NativeSession::Turn turn(*session);
  session->manual_seed(static_cast<uint64_t>(request["seed"].integer()));
  return "null";
}

std::string verify(const Json &request) {
  const auto session = session_of(request);
  const NativeSession::Turn turn(*session);
  rush_verify_report r = {};
  {
    const Unlocked unlocked;
    session->verify(static_cast<size_t>(request["test"].integer()), &r);
  }
  const auto distance = [](const rush_distance &d) {
    return "{\"max\": " + json_float(d.max) + ", \"l2\": " + json_float(d.l2) + "}";
  };
  return json_list({json_float(r.max_abs), json_float(r.max_rel), std::to_string(r.compared),
                    std::to_string(r.measured), distance(r.pytorch), distance(r.rushlight),
                    distance(r.difference)});
}

std::string describe(const Json &request) {
  const auto session = session_of(request);
  const NativeSession::Turn turn(*session);
  char *text;
  size_t size;
  session->check(
      rush_model_describe(session->ctx(), session->model(), RUSH_DESCRIBE_JSON, &text, &size));
  const std::string out = json_text(text);
  rush_free(session->ctx(), text, size);
  return out;
}

template <class Count, class Name>
std::string names(const rush_model *model, size_t method, Count count, Name name) {
  std::vector<std::string> out;
  for (size_t i = 0; i < count(model, method); i++) out.emplace_back(name(model, method, i));
  return json_texts(out);
}

// The constant part: methods with the names of inputs and outputs and the types of inputs.
std::string signature(const Json &request) {
  const auto session = session_of(request);
  const rush_model *model = session->model();
  std::vector<std::string> methods;
  for (size_t m = 0; m < rush_model_method_count(model); m++)
    methods.push_back(
        "{\"name\": " + json_text(rush_model_method_name(model, m)) +
        ", \"inputs\": " + names(model, m, rush_model_input_count, rush_model_input_name) +
        ", \"outputs\": " + names(model, m, rush_model_output_count, rush_model_output_name) +
        ", \"types\": [" +
        joined(session->input_types(m), [](const TypeRef &type) { return json_of(*type); }) + "]}");
  return "{\"methods\": " + json_list(methods) +
         ", \"tests\": " + std::to_string(session->test_count()) +
         ", \"stateful\": " + (rush_model_attribute_count(model) > 0 ? "true" : "false") + "}";
}

}  // namespace

Functions session_functions() {
  return {{"session.open", open},          {"session.clone", clone},
          {"session.close", close},        {"session.run", run},
          {"session.state", state},        {"session.set_state", set_state},
          {"session.reset", reset},        {"session.manual_seed", manual_seed},
          {"session.verify", verify},      {"session.describe", describe},
          {"session.signature", signature}};
}

}  // namespace rush
