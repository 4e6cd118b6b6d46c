// Functions on files.
#include "base/files.h"
#include "api/functions.h"
#include "api/python.h"
#include "base/json.h"
#include "inspect/weights.h"
#include "run/native.h"

namespace rush {

namespace {

std::string describe(const Json &request) {
  const bool json = request["json"].boolean();
  return json_text(
      describe_file(request["path"].text(), json ? RUSH_DESCRIBE_JSON : RUSH_DESCRIBE_TEXT));
}

std::string save_weights(const Json &request) {
  const Unlocked unlocked;
  write_safetensors(request["path"].text(), request["to"].text());
  return "null";
}

std::string version(const Json &) {
  return json_text(rush_version());
}

std::string has_op(const Json &request) {
  return rush_has_op(request["name"].text().c_str()) ? "true" : "false";
}

std::string stored(const Json &request) {
  return json_text(stored_path(request["path"].text()));
}

std::string torchs_own(const Json &request) {
  return is_torchs_own(request["path"].text()) ? "true" : "false";
}

}  // namespace

Functions file_functions() {
  return {{"describe", describe},  {"write_safetensors", save_weights},
          {"version", version},    {"has_op", has_op},
          {"stored_path", stored}, {"is_torchs_own", torchs_own}};
}

}  // namespace rush
