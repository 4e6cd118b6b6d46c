#include "export/calibration.h"

#include <stdexcept>

#include "base/counted.h"

namespace rush {

std::vector<Batch> calibration_of(const Program &program, const ExportOptions &options,
                                  const std::vector<Example> &examples) {
  std::vector<Batch> out;
  for (const std::vector<Const> &args : options.calibration)
    out.push_back({"calibration[" + std::to_string(out.size()) + "]", args});
  if (out.empty())
    for (const Example &example : examples)
      if (example.method == program.methods[0].name && !example.only_compared)
        out.push_back({"calibration by the example inputs", example.args});
  if (out.empty())
    throw std::invalid_argument("quantize='" + options.bits.name +
                                "' runs the model to find the ranges of activations: give "
                                "example_inputs or calibration");
  for (const Batch &batch : out)
    if (batch.args.size() != program.methods[0].inputs.size())
      throw std::invalid_argument(
          batch.name + " must have " + counted(program.methods[0].inputs.size(), "argument") +
          ", as many as the model has inputs, got " + std::to_string(batch.args.size()));
  for (const Batch &batch : out)
    for (const Const &c : batch.args)
      if (c.is_tensor() && c.tensor.is_floating_point() && !c.tensor.all_finite())
        throw std::invalid_argument(batch.name +
                                    " must be finite, got NaN or infinity: leave it out");
  return out;
}

}  // namespace rush
