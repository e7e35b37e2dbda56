// `ebbgate ctl`: run-time commands for a router on this machine, by its runtime socket.
#pragma once

#include <string>
#include <vector>

namespace ebb::app {

struct CtlArguments {
  std::string socket;                // "": $EBBGATE_SOCKET, else run/ebbgate.sock
  std::vector<std::string> command;  // none: lines of standard input
  std::string completion;            // "bash" or "zsh": print the script instead
};

int control(const CtlArguments& arguments);

}  // namespace ebb::app
