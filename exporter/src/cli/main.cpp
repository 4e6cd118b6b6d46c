#include "cli/tool.h"

int main(int argc, char **argv) {
  return rush::run_tool(argc, argv);
}
