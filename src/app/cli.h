// The command line. The only file that sees CLI11, which is slow to compile, is cli.cc.
#pragma once

namespace ebb::app {

// Scripts may rely on these.
enum ExitStatus : int {
  exit_ok = 0,
  exit_failed = 1,    // the configuration is wrong, or the router could not start
  exit_usage = 2,     // the command line is wrong
  exit_deadline = 3,  // `drain`: work was left at the deadline
  exit_cut = 4,       // `drain`: drained, but work was cut
};

int command_line(int count, const char* const* arguments);

}  // namespace ebb::app
