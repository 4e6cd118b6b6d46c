// Makes example calls from the options, takes hints for inputs and outputs from them, and stores
// them as test vectors.
#pragma once

#include "export/measure.h"
#include "export/options.h"

namespace rush {

// Throws std::invalid_argument if there is no method of this name.
const Method &method_of(const Program &program, const std::string &name);

// Returns the given examples, and one or two that are made from the input specs.
std::vector<Example> examples_of(const Program &program, const ExportOptions &options);

// Adds examples with other sizes where sizes vary (constraints.h). They are verified, too, and they
// show which sizes of the outputs depend on sizes of the inputs.
void add_other_sizes(const Program &program, const std::vector<Constraint> &constraints,
                     const Reference &reference, std::vector<Example> *examples,
                     std::vector<std::string> *warnings);

// Adds an example with other integers for each example: their maximum and their number of distinct
// values differ, so that a trace that fixed them answers wrongly. Adds none if PyTorch refuses it.
void add_other_integers(const Reference &reference, std::vector<Example> *examples);

// Writes the dtypes and sizes on which all examples agree into the ports.
void set_hints(Program &program, const std::vector<Example> &examples);

// Fills in PyTorch's answers if the examples have none.
void run_reference(std::vector<Example> *examples, const Reference &reference);

// Fills in the tolerances. Throws Unsupported for quantized tensors.
void set_tolerances(std::vector<Example> *examples, bool floats_from_float32);

// Returns whether an answer has tensors, all of them without elements.
bool is_empty(const Const &answer);

// Stores examples as test vectors: as they are if they ask for it, else with synthetic inputs of
// the same kind. Leaves out large outputs, and examples that PyTorch answers differently twice or
// in float64.
void add_tests(Program &program, const std::vector<Example> &examples, const ExportOptions &options,
               const Reference &reference, const Measurer &measurer,
               std::vector<std::string> *warnings);

}  // namespace rush
