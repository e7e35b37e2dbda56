// The runtime socket: HAProxy's words, its answers to the letter, its way with lines and prompts.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>

#include "admin/command_line.h"
#include "admin/control_fixture.h"
#include "serve/unix_listener.h"

namespace ebb::admin {
namespace {

using lifecycle::Wish;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(CommandLine, IsCutAtSemicolons) {
  EXPECT_THAT(split_commands("show info; show stat ;"), ElementsAre("show info", "show stat", ""));
  EXPECT_THAT(split_commands(R"(a\;b;c)"), ElementsAre(R"(a\;b)", "c"));
  EXPECT_THAT(split_commands(""), ElementsAre(""));
  EXPECT_THAT(split_commands("a\\"), ElementsAre("a\\"));
}

TEST(CommandLine, IsCutAtSpaces) {
  EXPECT_THAT(split_words("  set  server\tapi/a state drain\r"),
              ElementsAre("set", "server", "api/a", "state", "drain"));
  EXPECT_THAT(split_words(R"(a\ b c\\)"), ElementsAre("a b", "c\\"));
  EXPECT_THAT(split_words(""), ElementsAre());
  EXPECT_EQ(split_words(std::string(1000, 'x')).size(), 1u);
  std::string many;
  for (int i = 0; i < 100; ++i) many += "x ";
  EXPECT_EQ(split_words(many).size(), words_max);
}

class RuntimeTest : public ControlTest {
 protected:
  // A descriptor to close, with the line sent.
  int dial(const std::string& line) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(socket_path_.begin(), socket_path_.end(), address.sun_path);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const std::string bytes = line + "\n";
    EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    return fd;
  }
  static std::string read_to_end(int fd) {
    std::string reply;
    char piece[4096];
    for (ssize_t got = 0; (got = ::recv(fd, piece, sizeof(piece), 0)) > 0;)
      reply.append(piece, static_cast<std::size_t>(got));
    ::close(fd);
    return reply;
  }
  std::string run(const std::string& line) { return read_to_end(dial(line)); }
};

TEST_F(RuntimeTest, RunsNoCommandWhileTheLastReplyIsUnread) {
  constexpr int commands = 500;
  std::atomic<int> questions = 0;
  sources_.endpoints = [&](std::size_t worker) {
    questions += worker == 0 ? 1 : 0;
    return facts(worker);
  };
  std::string lines = "prompt\n";
  for (int i = 0; i < commands; ++i) lines += "show stat typed\n";
  const int unread = dial(lines + "quit");
  // Time enough for the others, which take turns with these.
  for (int i = 0; i < commands; ++i) run("show stat typed");
  EXPECT_LT(questions, commands + commands / 2);
  const std::string replies = read_to_end(unread);
  EXPECT_EQ(questions, 2 * commands);
  EXPECT_TRUE(replies.ends_with("\n> ")) << replies.substr(replies.size() - 20);
}

TEST_F(RuntimeTest, SaysTheSeverityOfMessagesToThoseWhoAsk) {
  EXPECT_EQ(run("get weight api/none"), "No such server.\n\n");
  EXPECT_EQ(run("set severity-output number; get weight api/none; show backend"),
            "\n[3]: No such server.\n\n# name\napi\nlocal\n\n");
  EXPECT_THAT(run("set severity-output string; set server api/a addr 1.2.3.4"), StartsWith("\n[warning]: IP changed"));
  EXPECT_EQ(run("set severity-output loud"), "one of 'none', 'number', 'string' is a required argument\n\n");
}

TEST_F(RuntimeTest, TakesAnEscapedBlankForAPartOfAWord) {
  for (const char* const line : {R"(show\ stat)", R"(show servers\ state)", R"(show\ servers\ conn api)",
                                 R"(enable\ server)", R"(shutdown\ sessions\ server)", R"(wait\ 5)"}) {
    EXPECT_THAT(run(line), StartsWith("Unknown command")) << line;
  }
}

TEST_F(RuntimeTest, IsForItsOwnerOnly) {
  struct stat facts{};
  ASSERT_EQ(::stat(socket_path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777u, 0600u);
}

TEST_F(RuntimeTest, TakesThePlaceOfADeadSocketButNotOfALivingOne) {
  std::string error;
  EXPECT_FALSE(serve::open_unix_listener(socket_path_, error));
  EXPECT_THAT(error, HasSubstr("another process listens there"));
  const std::string stale = socket_path_ + "2";
  {
    EXPECT_TRUE(serve::open_unix_listener(stale, error));
  }
  EXPECT_TRUE(serve::open_unix_listener(stale, error)) << error;
  ::unlink(stale.c_str());
  EXPECT_FALSE(serve::open_unix_listener("/etc/passwd", error));
  EXPECT_THAT(error, HasSubstr("not a socket"));
}

TEST_F(RuntimeTest, SetsStates) {
  EXPECT_EQ(run("set server api/a state drain"), "\n");
  EXPECT_EQ(roster_.find("api", "a")->wish, Wish::drain);
  EXPECT_EQ(run("disable server api/a"), "\n");
  EXPECT_EQ(roster_.find("api", "a")->wish, Wish::maint);
  EXPECT_EQ(run("enable server api/a"), "\n");
  EXPECT_EQ(roster_.find("api", "a")->wish, Wish::ready);
  EXPECT_EQ(run("set server api/a state foo"), "'set server <srv> state' expects 'ready', 'drain' and 'maint'.\n\n");
  EXPECT_EQ(run("set server api/zz state ready"), "No such server.\n\n");
  EXPECT_EQ(run("set server zz/a state ready"), "No such backend.\n\n");
  EXPECT_EQ(run("set server api"), "Require 'backend/server'.\n\n");
}

TEST_F(RuntimeTest, SetsWeights) {
  EXPECT_EQ(run("set server api/a weight 50%"), "\n");
  EXPECT_EQ(run("get weight api/a"), "1 (initial 2)\n\n");
  EXPECT_EQ(run("set weight api/a 256"), "\n");
  EXPECT_EQ(roster_.find("api", "a")->weight, 256u);
  EXPECT_EQ(run("set server api/a weight 257"), "Absolute weight can only be between 0 and 256 inclusive.\n\n");
  EXPECT_EQ(run("set server api/a weight -1"), "Absolute weight can only be between 0 and 256 inclusive.\n\n");
  EXPECT_EQ(run("set weight api/a"), "Require <weight> or <weight%>.\n\n");
}

TEST_F(RuntimeTest, SetsAddresses) {
  EXPECT_EQ(run("set server api/a addr 10.0.0.9"),
            "IP changed from '10.0.0.1' to '10.0.0.9' by 'stats socket command'\n\n");
  EXPECT_EQ(run("set server api/a addr 10.0.0.9 port 99"),
            "no need to change the addr, port changed from '80' to '99' by 'stats socket command'\n\n");
  EXPECT_EQ(roster_.find("api", "a")->address.text(), "10.0.0.9:99");
  EXPECT_EQ(run("set server api/a addr 10.0.0.9 port 99"),
            "no need to change the addr, no need to change the port by 'stats socket command'\n\n");
  EXPECT_EQ(run("set server api/a addr nope"), "Invalid addr 'nope' by 'stats socket command'\n\n");
  EXPECT_EQ(run("set server api/a addr ::1 port 80"),
            "IP changed from '10.0.0.9' to '::1', port changed from '99' to '80' by 'stats socket command'\n\n");
}

TEST_F(RuntimeTest, AddsAndDeletesServers) {
  EXPECT_EQ(run("add server api/c 10.0.0.3:80 weight 5 check inter 1s"), "New server registered.\n\n");
  EXPECT_EQ(roster_.find("api", "c")->wish, Wish::maint);
  EXPECT_EQ(roster_.find("api", "c")->weight, 5u);
  EXPECT_EQ(run("add server api/c 10.0.0.3:80"), "Already exists a server with the same name in backend.\n\n");
  EXPECT_EQ(run("add server api/d"), "'server' expects <name> and <addr>[:<port>] as arguments.\n\n");
  EXPECT_EQ(run("add server zz/d 10.0.0.3:80"), "No such backend.\n");
  EXPECT_EQ(run("add server api/d 10.0.0.3:80 cookie x"), "unknown keyword 'cookie'\n\n");
  EXPECT_EQ(run("set server api/c state ready"), "\n");
  EXPECT_EQ(run("del server api/c"), "Only servers in maintenance mode can be deleted.\n");
  EXPECT_EQ(run("set server api/c state maint"), "\n");
  make_busy(1, identity("api", "c"));
  EXPECT_EQ(run("del server api/c"), "Server still has connections attached to it, cannot remove it.\n");
  EXPECT_EQ(run("wait 30 srv-removable api/c"),
            "Wait delay expired. Server still has connections attached to it, cannot remove it.\n\n");
  EXPECT_EQ(run("shutdown sessions server api/c;wait 10s srv-removable api/c; del server api/c"),
            "\nDone.\n\nServer deleted.\n");
  EXPECT_EQ(run("del server api/c"), "No such server.\n");
  EXPECT_EQ(run("wait 1s srv-removable api/a"), "Failed. Only servers in maintenance mode can be deleted.\n\n");
}

TEST_F(RuntimeTest, ShowsServersInVersionOneOfTheState) {
  run("set server api/b state maint");
  EXPECT_THAT(
      run("show servers state api"),
      StartsWith("1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight "));
  EXPECT_THAT(run("show servers state api"),
              HasSubstr("\n3 api 1 a 10.0.0.1 2 0 2 2 0 1 0 2 0 0 0 0 - 80 - 0 0 - - 0\n"));
  EXPECT_THAT(run("show servers state"), HasSubstr("\n3 api 2 b 10.0.0.2 0 1 1 1 0 "));
  EXPECT_THAT(run("show servers conn api"), HasSubstr("\napi/a 3/1 10.0.0.1 80 - "));
  EXPECT_EQ(run("show servers state none"), "Can't find backend.\n\n");
  EXPECT_EQ(run("show backend"), "# name\napi\nlocal\n\n");
}

TEST_F(RuntimeTest, ShowsStatistics) {
  run("set server api/b state drain");
  const std::string csv = run("show stat");
  EXPECT_THAT(csv,
              StartsWith("# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,dreq,dresp,ereq,econ,eresp,wretr,"
                         "wredis,status,weight,act,bck,chkfail,chkdown,lastchg,downtime,qlimit,pid,iid,sid,throttle,"));
  EXPECT_THAT(csv, HasSubstr("\nweb,FRONTEND,"));
  EXPECT_THAT(csv, HasSubstr("\napi,b,0,,0,,,30,0,0,,,,0,0,0,,DRAIN,1,1,0,"));
  EXPECT_THAT(csv, HasSubstr("\napi,BACKEND,2,,0,,,60,"));
  EXPECT_THAT(run("show stat api 4 -1"), Not(HasSubstr("BACKEND")));
  EXPECT_EQ(run("show stat none 4 -1"), "No such proxy.\n\n");
  EXPECT_THAT(run("show stat up"), Not(HasSubstr("\napi,b,")));
  EXPECT_THAT(run("show stat typed"), HasSubstr("S.3.2.17.status.1:SGP:str:DRAIN\n"));
  std::string text = run("show stat json");
  const auto value = wire::read_json(text, {.values = 100'000});
  ASSERT_TRUE(value);
  EXPECT_EQ(value->items.size(), 6u);
}

TEST_F(RuntimeTest, ShowsInformation) {
  EXPECT_THAT(run("show info"),
              StartsWith("Name: Ebbgate\nVersion: 0.1.0\nNbthread: 2\nNbproc: 1\nProcess_num: 1\nPid: "));
  EXPECT_THAT(run("show info typed"), StartsWith("0.Name.1:POS:str:Ebbgate\n"));
  EXPECT_TRUE(wire::read_json(run("show info json")));
  EXPECT_EQ(run("show version"), "0.1.0\n\n");
}

TEST_F(RuntimeTest, ShowsAndEndsSessions) {
  const std::string sessions = run("show sess");
  EXPECT_THAT(sessions, StartsWith("0x20000000100000004: proto=tcpv4 src=192.0.2.1:5000 fe=web be=api srv=a ts=01 "));
  EXPECT_EQ(run("show sess 0x20000000100000004"), sessions);
  EXPECT_EQ(run("show sess 0x1"), "Session not found.\n\n");
  EXPECT_EQ(run("shutdown session 0x20000000100000004"), "\n");
  EXPECT_EQ(run("shutdown session 0x10000000100000004"), "No such session (use 'show sess').\n\n");
  EXPECT_EQ(run("shutdown session"), "Session pointer expected (use 'show sess').\n\n");
}

TEST_F(RuntimeTest, HelpsWithWhatItDoesNotKnow) {
  EXPECT_THAT(run(""), StartsWith("Unknown command. Please enter one of the following commands only:\n  add server "));
  EXPECT_THAT(run("show"),
              StartsWith("Unknown command, but maybe one of the following ones is a better match:\n  show backend "));
  EXPECT_THAT(run("help"), StartsWith("The following commands are valid at this level:\n  add server "));
  EXPECT_THAT(run("show servers"), HasSubstr("show servers state [<backend>]"));
}

TEST_F(RuntimeTest, GoesOnAfterAPrompt) {
  EXPECT_EQ(run("prompt\nshow version\nshow version; show backend\nquit"),
            "\n> 0.1.0\n\n> 0.1.0\n\n> # name\napi\nlocal\n\n> ");
}

TEST_F(RuntimeTest, AnswersAChainInItsOrder) {
  EXPECT_EQ(run("show version;get weight api/a"), "0.1.0\n\n2 (initial 2)\n\n");
  std::string chain = "show version";
  for (int i = 0; i < 500; ++i) chain += ";show version";
  EXPECT_EQ(run(chain).size(), 501 * std::string("0.1.0\n\n").size());
}

}  // namespace
}  // namespace ebb::admin
