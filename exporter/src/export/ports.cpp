#include "export/ports.h"

#include <set>
#include <stdexcept>

#include "base/counted.h"

namespace rush {

namespace {

void rename_ports(Program &program, const ExportOptions &options) {
  auto rename = [](std::vector<Port> &ports, const std::vector<std::string> &names,
                   const char *what) {
    if (names.empty()) return;
    if (names.size() > ports.size() ||
        (std::string(what) == "output" && names.size() != ports.size()))
      throw std::invalid_argument(std::string(what) + "_names must have " +
                                  (std::string(what) == "output" ? "" : "at most ") +
                                  counted(ports.size(), "name") + ", got " +
                                  std::to_string(names.size()));
    for (size_t i = 0; i < names.size(); i++)
      if (!names[i].empty()) ports[i].name = names[i];
    for (size_t i = 0; i < ports.size(); i++)
      for (size_t k = 0; k < i; k++)
        if (ports[i].name == ports[k].name)
          throw std::invalid_argument(std::string("the names of ") + what + "s must differ, got '" +
                                      ports[i].name + "' twice");
  };
  rename(program.methods[0].inputs, options.input_names, "input");
  rename(program.methods[0].outputs, options.output_names, "output");
}

void make_unique(std::vector<Port> &ports) {
  std::vector<std::string> names;
  for (const Port &port : ports) names.push_back(port.name);
  names = unique_names(std::move(names));
  for (size_t i = 0; i < ports.size(); i++) ports[i].name = std::move(names[i]);
}

}  // namespace

std::vector<std::string> unique_names(std::vector<std::string> names) {
  std::set<std::string> taken(names.begin(), names.end());
  std::set<std::string> used;
  for (std::string &name : names) {
    if (used.insert(name).second) continue;
    const std::string given = name;
    for (int n = 1; !taken.insert(name).second; n++) name = given + "_" + std::to_string(n);
  }
  return names;
}

void name_ports(Program &program, const ExportOptions &options) {
  for (Method &m : program.methods) {
    make_unique(m.inputs);
    make_unique(m.outputs);
  }
  rename_ports(program, options);
}

std::string to_string(const Port &port) {
  std::string out = port.name + ": ";
  if (!port.has_hint) return out + to_string(*port.type);
  out += dtype_name(static_cast<rush_dtype>(port.dtype));
  out += "[";
  for (size_t d = 0; d < port.sizes.size(); d++)
    out += (d ? ", " : "") + (port.sizes[d] < 0 ? std::string("?") : std::to_string(port.sizes[d]));
  return out + "]";
}

}  // namespace rush
