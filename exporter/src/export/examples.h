// Example calls: what they are made from, what they tell of inputs and outputs, and as test
// vectors.
#pragma once

#include "export/measure.h"
#include "export/options.h"

namespace rush {

// Throws std::invalid_argument where there is none of this name.
const Method &method_of(const Program &program, const std::string &name);

// The given examples; else one or two made of the input specs.
std::vector<Example> examples_of(const Program &program, const ExportOptions &options);

// For each example others, in which the sizes that vary are larger (constraints.h), so that these are
// verified too and it shows which sizes of the outputs follow from them.
void add_grown(const Program &program, const std::vector<Constraint> &constraints,
               const Reference &reference, std::vector<Example> *examples,
               std::vector<std::string> *warnings);

// For each example one whose integers have another greatest value and another number of distinct ones,
// which a trace that kept the example's answers wrongly. None where PyTorch refuses it.
void add_other_integers(const Reference &reference, std::vector<Example> *examples);

// Writes into the ports what all answered examples agree on.
void give_hints(Program &program, const std::vector<Example> &examples);

// Fills in what is expected, where it is not given.
void answer(std::vector<Example> *examples, const Reference &reference);

// Fills in how near answers must be. Throws Unsupported for quantized tensors.
void settle(std::vector<Example> *examples, bool single_numbers);

// Stores examples as test vectors: those that ask for it as they are, the others with made-up
// inputs of the same kind. Leaves out what PyTorch answers differently twice or in float64, and
// large outputs.
void add_tests(Program &program, const std::vector<Example> &examples, const ExportOptions &options,
               const Reference &reference, const Measurer &measurer,
               std::vector<std::string> *warnings);

}  // namespace rush
