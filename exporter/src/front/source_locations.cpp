#include <regex>

#include "base/files.h"
#include "front/torchscript_parts.h"

namespace rush {

namespace {

struct Frame {
  std::string file, function;
  uint32_t line = 0;
};

// The source of a traced node is a stack as text: "net.py(12): forward", innermost first. Frames
// outside of the tracer's call are dropped.
std::vector<Frame> traced_frames(const std::string &text) {
  std::vector<Frame> out;
  size_t from = 0;
  while (from < text.size()) {
    size_t end = text.find('\n', from);
    if (end == std::string::npos) end = text.size();
    const std::string line = text.substr(from, end - from);
    from = end + 1;
    size_t close = line.rfind("): "),
           open = close == std::string::npos ? close : line.rfind('(', close);
    if (open == std::string::npos || open + 1 == close) return out;
    const std::string digits = line.substr(open + 1, close - open - 1);
    if (digits.find_first_not_of("0123456789") != std::string::npos || digits.size() > 9)
      return out;
    const std::string file = line.substr(0, open);
    if (!out.empty() && stored_path(file) == "torch/jit/_trace.py") return out;
    out.push_back({file, line.substr(close + 3), static_cast<uint32_t>(std::stoul(digits))});
  }
  return out;
}

void add_frames(torch::jit::SourceRange range, const std::string &function,
                std::vector<Frame> *out) {
  if (!range.source()) return;
  if (auto original = range.findSourceRangeThatGenerated()) range = *original;
  std::vector<Frame> traced = traced_frames(range.source()->text_str().str());
  if (!traced.empty()) {
    out->insert(out->end(), traced.begin(), traced.end());
  } else if (auto at = range.file_line_col()) {
    auto &[file, line, column] = *at;
    out->push_back({file, function, static_cast<uint32_t>(line)});
    (void)column;
  }
}

// The outermost call is first. Freezing may have freed the functions, so that only their names may be
// used.
std::vector<torch::jit::InlinedCallStackPtr> calls_of(torch::jit::Node &node) {
  std::vector<torch::jit::InlinedCallStackPtr> out;
  for (auto at = node.callstack(); at; at = (*at)->callee()) out.push_back(*at);
  return out;
}

std::string module_path(const std::vector<torch::jit::InlinedCallStackPtr> &calls) {
  std::string path;
  for (const auto &call : calls) {
    const auto instance = call->module_instance();
    if (!instance) continue;
    const std::string name = instance->instance_name();
    if (name.empty() || name == "SELF" || name == "INSTANCE_NAME_UNKNOWN") continue;
    path += (path.empty() ? "" : ".") + name;
  }
  return path;
}

}  // namespace

std::string without_absolute_paths(const std::string &text) {
  static const std::regex path(R"((# )(/[^\n]*?)(:\d+:\d+))");
  std::string out;
  auto at = text.cbegin();
  for (std::sregex_iterator it(text.begin(), text.end(), path), end; it != end; ++it) {
    out.append(at, (*it)[0].first);
    out += (*it)[1].str() + stored_path((*it)[2].str()) + (*it)[3].str();
    at = (*it)[0].second;
  }
  out.append(at, text.cend());
  return out;
}

Source source_of(const torch::jit::Node &const_node) {
  auto &node = const_cast<torch::jit::Node &>(const_node);  // scope() and callstack() are not const
  std::vector<Frame> frames;                                // innermost first
  const auto calls = calls_of(node);
  add_frames(node.sourceRange(), calls.empty() ? "forward" : calls.back()->function_name(),
             &frames);
  for (size_t i = calls.size(); i-- > 0;)
    add_frames(calls[i]->source_range(), i > 0 ? calls[i - 1]->function_name() : "forward",
               &frames);
  Source out;
  out.module = module_path(calls);
  if (frames.empty()) return out;
  const Frame *chosen = &frames[0];
  for (const Frame &f : frames) {
    if (is_torchs_own(f.file)) continue;
    chosen = &f;
    break;
  }
  out.file = stored_path(chosen->file);
  out.line = chosen->line;
  out.function = chosen->function;
  return out;
}

void place_at(torch::jit::Block *block, const torch::jit::SourceRange &range) {
  for (torch::jit::Node *node : block->nodes()) {
    node->setSourceRange(range);
    for (torch::jit::Block *inner : node->blocks()) place_at(inner, range);
  }
}

}  // namespace rush
