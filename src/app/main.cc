#include "app/cli.h"

int main(int count, char** arguments) { return ebb::app::command_line(count, arguments); }
