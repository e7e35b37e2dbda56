// `ebbgate ctl`: runtime commands for a router on this machine, through its runtime socket.
#pragma once

#include <string>
#include <vector>

namespace ebb::app {

struct CtlArguments {
  std::string socket;                // "": $EBBGATE_SOCKET, else run/ebbgate.sock
  std::vector<std::string> command;  // empty: read lines from standard input
  std::string completion;            // "bash" or "zsh": print the script instead
};

int control(const CtlArguments& arguments);

}  // namespace ebb::app
