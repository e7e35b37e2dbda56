#include "census/explain.h"

#include <fmt/format.h>

#include <charconv>

#include "census/words.h"

namespace ebb::census {
namespace {

class Explanation {
 public:
  Explanation(const Census& census, std::uint32_t index, const Policy& policy)
      : sample_(census.sample),
        socket_(sample_.sockets[index]),
        classification_(census.classifications[index]),
        age_(census.ages[index]),
        limits_(sample_.limits_of(socket_)),
        policy_(policy) {}

  std::string text() {
    title();
    who();
    if (socket_.has_info && is_open(socket_.state)) traffic();
    state();
    options();
    end();
    return std::move(out_);
  }

 private:
  template <class... Values>
  void say(fmt::format_string<const Values&...> format, const Values&... values) {
    fmt::format_to(std::back_inserter(out_), format, values...);
  }

  void title() {
    const bool listens = socket_.state == State::listen;
    say("{}{}{}  {}  (cookie:{})\n", socket_.local.text(), listens ? "" : " -> ", listens ? "" : socket_.peer.text(),
        name(socket_.state), socket_.cookie);
    const ReasonFacts& reason = facts(classification_.reason);
    say("Verdict: {}: {}.\n", name(reason.socket_class), reason.why);
    if (!reason.remedy.empty()) say("To do: {}.\n", reason.remedy);
  }

  void who() {
    const Process* const process = sample_.process_of(socket_);
    if (process != nullptr) {
      say("It is descriptor {} of process {} ({}), user {}", socket_.fd, process->pid, harmless(process->name),
          socket_.uid);
    } else if (socket_.inode == 0) {
      say("{}", socket_.unaccepted() ? "It is in the queue of a listener" : "No program holds it any more");
    } else {
      say("It belongs to a program of user {} that could not be seen; root would see it", socket_.uid);
    }
    say(", in network namespace \"{}\".\n", harmless(sample_.spaces[socket_.space].name));
    if (socket_.real_peer.valid()) {
      say("{} is an address that is translated: the real peer is {}.\n", socket_.peer.text(), socket_.real_peer.text());
    }
    if (age_) say("It is {}{} old.\n", age_->exact ? "" : "at least ", duration_text(age_->ms));
  }

  void traffic() {
    const auto last = [this](const char* what, std::uint32_t segments, std::uint32_t ms) {
      if (segments == 0) {
        say("It has never {} data. ", what);
      } else {
        say("It last {} data {} ago. ", what, duration_text(ms));
      }
    };
    last("received", socket_.segments_received, socket_.last_received_ms);
    last("sent", socket_.segments_sent, socket_.last_sent_ms);
    say("The peer's kernel was last heard {} ago.\n",
        duration_text(std::min(socket_.last_received_ms, socket_.last_acknowledged_ms)));
    if (socket_.receive_queue > 0 && socket_.state != State::listen) {
      say("{} bytes have arrived that the program has not read.\n", socket_.receive_queue);
    }
    if (socket_.send_queue > 0) {
      say("{} bytes are not acknowledged, {} of them were not sent yet.\n", socket_.send_queue, socket_.not_sent);
    }
  }

  void state() {
    switch (socket_.state) {
      case State::established: say("It is open both ways until one side closes it.\n"); break;
      case State::syn_sent: say("The program waits for the peer to accept the connection.\n"); break;
      case State::syn_recv:
      case State::new_syn_recv: say("A peer has asked for it and has not confirmed our answer yet.\n"); break;
      case State::fin_wait1: say("Our side has closed it; the peer has not confirmed that.\n"); break;
      case State::fin_wait2:
        say("Our side has closed it, the peer has confirmed that and keeps its own side open.\n");
        break;
      case State::time_wait:
        say("Both sides have closed it; its ports rest so that late segments find no new owner.\n");
        break;
      case State::close_wait: say("The peer has closed its side; our program has not.\n"); break;
      case State::last_ack:
      case State::closing: say("Both sides have closed it; our end is not confirmed yet.\n"); break;
      case State::listen:
        say("{} of at most {} connections wait to be accepted.\n", socket_.receive_queue, socket_.send_queue);
        break;
      case State::closed:
      case State::unknown: break;
    }
  }

  void options() {
    if (socket_.state == State::listen || socket_.timer == Timer::time_wait) return;
    if (!socket_.options.known) {
      say("Its options could not be read{}: those of the network namespace are assumed, and that TCP_USER_TIMEOUT is "
          "not set.\n",
          socket_.inode == 0 ? ", because no program holds it" : "; root could");
      return;
    }
    const Options& options = socket_.options;
    if (options.keepalive) {
      say("Keepalive is on: after {} of silence a probe every {}, {} of them. ",
          duration_text(1000 * std::int64_t{options.keepalive_idle_s}),
          duration_text(1000 * std::int64_t{options.keepalive_interval_s}), options.keepalive_probes);
    } else {
      say("Keepalive is off. ");
    }
    if (options.user_timeout_ms != 0) {
      say("TCP_USER_TIMEOUT is {}.\n", duration_text(options.user_timeout_ms));
    } else {
      say("TCP_USER_TIMEOUT is not set.\n");
    }
  }

  void end() {
    if (socket_.state == State::listen) return;
    const GiveUp& ends = classification_.give_up;
    if (!ends.in_ms) {
      say("If the peer died now, the kernel would never notice: nothing is outstanding, and keepalive is off.\n");
    } else {
      say("{}: {}in {}.\n", cause(ends.ending), ends.assumed ? "with the assumed options, " : "",
          duration_text(*ends.in_ms));
    }
    if (socket_.state != State::established || socket_.timer == Timer::retransmit) return;
    const std::int64_t budget = retry_budget_ms(socket_, limits_);
    say("If the program wrote to a dead peer, the kernel would try for {}.{} s ({}).\n", budget / 1000,
        budget % 1000 / 100,
        socket_.options.known && socket_.options.user_timeout_ms != 0
            ? "TCP_USER_TIMEOUT"
            : fmt::format("tcp_retries2 = {}", limits_.retries2));
    if (classification_.socket_class() == SocketClass::unprotected)
      say("The limit is {}.\n", duration_text(policy_.limit_ms));
  }

  static std::string_view cause(Ending ending) {
    switch (ending) {
      case Ending::retransmissions:
        return "If the peer stays silent, the kernel gives up when tcp_retries2 (or, without a program, "
               "tcp_orphan_retries) is used up";
      case Ending::user_timeout: return "If the peer stays silent, the kernel gives up by TCP_USER_TIMEOUT";
      case Ending::keepalive: return "If the peer stays silent, the kernel gives up after the last keepalive probe";
      case Ending::zero_window:
        return "If the peer stops answering, the kernel gives up after tcp_retries2 probes of its window";
      case Ending::handshake: return "If nobody answers, the kernel gives up the handshake";
      case Ending::time_wait: return "The kernel forgets it";
      case Ending::never: break;
    }
    return "";
  }

  const Sample& sample_;
  const Socket& socket_;
  const Classification& classification_;
  const std::optional<Age>& age_;
  const Limits& limits_;
  const Policy& policy_;
  std::string out_;
};

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc{} && end == text.data() + text.size();
}

std::vector<std::uint32_t> all_that(const Census& census, const auto& holds) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < census.size(); ++i) {
    if (holds(census.sample.sockets[i])) found.push_back(i);
  }
  return found;
}

}  // namespace

std::string explain(const Census& census, std::uint32_t index, const Policy& policy) {
  return Explanation(census, index, policy).text();
}

std::expected<std::vector<std::uint32_t>, std::string> find_sockets(const Census& census, std::string_view text) {
  constexpr std::string_view prefix = "cookie:";
  std::uint64_t cookie = 0;
  if (text.starts_with(prefix) && read_number(text.substr(prefix.size()), cookie)) {
    return all_that(census, [&](const Socket& socket) { return socket.cookie == cookie; });
  }
  if (const auto end = base::Address::parse(text)) {
    return all_that(census, [&](const Socket& socket) {
      return socket.local == *end || socket.peer == *end || socket.real_peer == *end;
    });
  }
  const std::size_t slash = text.find('/');
  std::uint32_t pid = 0;
  std::uint32_t fd = 0;
  if (slash != std::string_view::npos && read_number(text.substr(0, slash), pid) &&
      read_number(text.substr(slash + 1), fd)) {
    return all_that(census, [&](const Socket& socket) {
      const Process* const process = census.sample.process_of(socket);
      return process != nullptr && process->pid == pid && socket.fd == fd;
    });
  }
  return std::unexpected("\"" + std::string(text) + "\" names no socket: give PID/FD, ADDRESS:PORT or cookie:NUMBER");
}

}  // namespace ebb::census
