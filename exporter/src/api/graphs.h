// The graphs that Python builds, by number.
#pragma once

#include <memory>

#include "api/graph_builder.h"

namespace rush {

std::shared_ptr<GraphBuilder> graph_of(const Json &number);

}  // namespace rush
