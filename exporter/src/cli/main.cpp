#include "cli/torch_commands.h"

int main(int argc, char **argv) {
  return rush::run_tool(argc, argv, rush::torch_commands());
}
