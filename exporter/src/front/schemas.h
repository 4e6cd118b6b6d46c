// Schemas of torch.
#pragma once

namespace rush {

// Makes schema_of() and overloads_of() find the operators of torch and of loaded libraries.
void use_schemas_of_torch();

}  // namespace rush
