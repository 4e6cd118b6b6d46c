#include "export/ports.h"

#include <set>
#include <stdexcept>

#include "base/counted.h"
#include "base/joined.h"

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
  for (const PortNames &names : options.port_names) {
    Method &m = program.methods[index_of(program, names.method)];
    rename(m.inputs, names.inputs, "input");
    rename(m.outputs, names.outputs, "output");
  }
}

void make_unique(std::vector<Port> &ports) {
  std::vector<std::string> names;
  for (const Port &port : ports) names.push_back(port.name);
  names = unique_names(std::move(names));
  for (size_t i = 0; i < ports.size(); i++) ports[i].name = std::move(names[i]);
}

}  // namespace

size_t index_of(const Program &program, const std::string &method) {
  for (size_t i = 0; i < program.methods.size(); i++)
    if (method.empty() || program.methods[i].name == method) return i;
  const std::string known = joined(program.methods, [](const Method &m) { return m.name; });
  throw std::invalid_argument("the method must be one of " + known + ", got '" + method + "'");
}

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
