// The questions of an export, which Python answers (ir/answers.h).
#pragma once

#include "api/json.h"
#include "export/options.h"

namespace rush {

// Returns the answers of a program's methods, with the types of its results. The program must live
// as long.
Reference reference_in_python(const Program &program);
GraphAnswer graph_in_python(const Program &program);
// Traces. Their results have the types of the program, unless it is nullptr.
Tracer tracer_in_python(const Program *program);

// Lets Python record calls and find the programs of operators.
void ask_python_for_operators(ExportOptions *options);

// Lets Python find schemas.
void use_schemas_of_python();

}  // namespace rush
