#include "app/completion.h"

#include <string>

namespace ebb::app {
namespace {

// zsh can run bash completions.
constexpr std::string_view bash_script =
    R"script(# ebbgate: completion for bash; source it, or put it into /etc/bash_completion.d/ebbgate
_ebbgate_servers() {
  "${COMP_WORDS[0]}" ctl "${_ebbgate_socket[@]}" show servers state 2>/dev/null | awk 'NR > 2 && NF > 4 { print $2 "/" $4 }'
}
_ebbgate_backends() {
  "${COMP_WORDS[0]}" ctl "${_ebbgate_socket[@]}" show backend 2>/dev/null | awk 'NR > 1 && NF { print }'
}
_ebbgate() {
  local current="${COMP_WORDS[COMP_CWORD]}" choices="" i words=()
  local _ebbgate_socket=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "run check ctl drain conns reap canary version" -- "$current"))
    return
  fi
  [ "${COMP_WORDS[1]}" = ctl ] || return
  for ((i = 2; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in
      -s | --socket) _ebbgate_socket=(-s "${COMP_WORDS[++i]}") ;;
      *) words+=("${COMP_WORDS[i]}") ;;
    esac
  done
  case "${words[*]}" in
    "") choices="show set get enable disable add del shutdown wait help -s --completion" ;;
    show) choices="info stat servers sess backend version" ;;
    "show servers") choices="state conn" ;;
    "show servers state" | "show servers conn") choices="$(_ebbgate_backends)" ;;
    "show stat" | "show info") choices="json typed" ;;
    set) choices="server weight" ;;
    get) choices="weight" ;;
    enable | disable | add | del) choices="server" ;;
    shutdown) choices="session sessions" ;;
    "shutdown sessions") choices="server" ;;
    "set server" | "set weight" | "get weight" | "enable server" | "disable server" | "del server" | "shutdown sessions server")
      choices="$(_ebbgate_servers)" ;;
    "add server") choices="$(_ebbgate_backends | sed 's|$|/|')" ;;
    "set server "*" state") choices="ready drain maint" ;;
    "set server "*" "*) ;;
    "set server "*) choices="state weight addr" ;;
    "wait "*" srv-removable") choices="$(_ebbgate_servers)" ;;
    "wait "*) choices="srv-removable" ;;
    --completion) choices="bash zsh" ;;
  esac
  COMPREPLY=($(compgen -W "$choices" -- "$current"))
}
complete -F _ebbgate ebbgate
)script";

constexpr std::string_view zsh_begin = "autoload -Uz bashcompinit && bashcompinit\n";

}  // namespace

std::string_view completion_script(std::string_view shell) {
  static const std::string zsh_script = std::string(zsh_begin) + std::string(bash_script);
  return shell == "zsh" ? std::string_view(zsh_script) : bash_script;
}

}  // namespace ebb::app
