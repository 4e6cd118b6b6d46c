#include <torch/csrc/jit/runtime/jit_exception.h>

#include "front/torchscript.h"

namespace rush {

std::string reason_of(const std::exception &error) {
  const auto *raised = dynamic_cast<const torch::jit::JITException *>(&error);
  if (raised && raised->getOriginalMsg()) return *raised->getOriginalMsg();
  const auto *torchs = dynamic_cast<const c10::Error *>(&error);
  const std::string what = torchs ? torchs->what_without_backtrace() : error.what();
  const bool traceback = what.rfind("The following operation failed in the TorchScript", 0) == 0;
  const std::string last = "\nRuntimeError: ";
  const size_t at = traceback ? what.rfind(last) : std::string::npos;
  std::string reason = at == std::string::npos ? what : what.substr(at + last.size());
  while (!reason.empty() && reason.back() == '\n') reason.pop_back();
  return reason;
}

}  // namespace rush
