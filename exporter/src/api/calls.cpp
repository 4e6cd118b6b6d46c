#include "api/api.h"

#include <new>
#include <stdexcept>

#include "api/functions.h"
#include "api/python.h"
#include "api/questions.h"
#include "api/values.h"
#include "base/json.h"
#include "base/runtime_error.h"
#include "cli/command_line.h"
#include "ir/answers.h"
#include "ir/unsupported.h"

namespace rush {

namespace {

const Functions &functions() {
  static const Functions all = [] {
    Functions out = session_functions();
    for (const Functions &more : {file_functions(), schema_functions(), graph_functions(),
                                  export_functions(), tool_functions()})
      out.insert(more.begin(), more.end());
    return out;
  }();
  return all;
}

std::string error(const char *type, const std::string &message) {
  return std::string("{\"error\": {\"type\": \"") + type +
         "\", \"message\": " + json_text(message) + "}}";
}

std::string refusal(const RuntimeError &e) {
  const auto known = [](const std::string &text) {
    return text.empty() ? "null" : json_text(text);
  };
  return "{\"error\": {\"type\": \"RushlightError\", \"code\": " +
         json_text(rush_status_name(e.status)) + ", \"message\": " + json_text(e.what()) +
         ", \"op\": " + known(e.op) + ", \"source\": " + known(e.source) +
         ", \"specialized\": " + known(e.specialized) + "}}";
}

// Returns the exception that is being handled, as Python raises it.
std::string handled() {
  try {
    throw;
  } catch (const Interrupted &) {
    return "null";
  } catch (const PythonException &e) {
    return "{\"error\": {\"exception\": " + std::to_string(e.number) + "}}";
  } catch (const PyTorchError &e) {
    try {
      std::rethrow_exception(e.original);
    } catch (...) {
      return handled();
    }
  } catch (const RuntimeError &e) {
    return refusal(e);
  } catch (const Unsupported &e) {
    return refusal(RuntimeError(RUSH_ERR_UNSUPPORTED, e.what()));
  } catch (const UsageError &e) {
    return error("ValueError", e.what());
  } catch (const std::out_of_range &e) {
    return error("IndexError", e.what());
  } catch (const std::invalid_argument &e) {
    return error("ValueError", e.what());
  } catch (const std::bad_alloc &) {
    return error("MemoryError", "out of memory");
  } catch (const std::exception &e) {
    return error("RuntimeError", e.what());
  }
}

std::string answer_to(const char *function, const char *request) {
  try {
    return "{\"ok\": " + functions().at(function)(parse_json(request)) + "}";
  } catch (...) {
    return handled();
  }
}

}  // namespace

}  // namespace rush

void rushlight_start(rushlight_python python, void (*ask)(const char *what, const char *request)) {
  rush::use_python(python, ask);
  rush::use_schemas_of_python();
}

const char *rushlight_call(const char *function, const char *request) {
  thread_local std::string answer;
  answer = rush::answer_to(function, request);
  return answer.c_str();
}

void rushlight_release(int64_t storage) {
  rush::release_storage(storage);
}
