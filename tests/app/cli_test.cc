#include "app/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "app/check.h"
#include "tests/config/temporary_folder.h"

namespace ebb::app {
namespace {

using config::TemporaryFolder;
using config::write_file;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

struct Outcome {
  int status;
  std::string out;
  std::string error;
};

Outcome ebbgate(std::vector<std::string> words) {
  std::vector<const char*> arguments = {"ebbgate"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = command_line(static_cast<int>(arguments.size()), arguments.data());
  std::fflush(stdout);
  std::fflush(stderr);
  return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(CommandLine, HelpsWithEveryCommand) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--help"},
                                                {"run", "--help"},
                                                {"check", "--help"},
                                                {"ctl", "--help"},
                                                {"drain", "--help"},
                                                {"canary", "--help"},
                                                {"canary", "serve", "--help"},
                                                {"version", "--help"}}) {
    const Outcome outcome = ebbgate(words);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.out, HasSubstr("Example"));
  }
}

TEST(CommandLine, RefusesWrongUsageWithStatusTwo) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, {"--nothing"}, {"run"}, {"check", "-c"}, {"version", "more"}}) {
    const Outcome outcome = ebbgate(words);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.error, "");
  }
}

TEST(CommandLine, SuggestsTheCommandThatWasMeant) {
  const Outcome outcome = ebbgate({"chek", "-c", "gate.yaml"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.error, "ebbgate: there is no command `chek`; did you mean `check`?\n");
}

TEST(CommandLine, SaysItsVersion) {
  EXPECT_THAT(ebbgate({"version"}).out, StartsWith("ebbgate " EBB_VERSION " ("));
  EXPECT_THAT(ebbgate({"version", "--json"}).out, StartsWith(R"({"name":"ebbgate","version":")" EBB_VERSION "\""));
}

TEST(CommandLine, DoesNotRunAWrongConfiguration) {
  const TemporaryFolder folder;
  const Outcome outcome = ebbgate({"run", "-c", folder / "none.yaml"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.error, HasSubstr("none.yaml: cannot be read: No such file or directory"));
}

TEST(Check, CountsWhatIsThere) {
  const TemporaryFolder folder;
  write_file(folder / "gate.yaml",
             "listeners: [{name: web, bind: \":80\"}]\nroutes: [{backend: a}, {path: /x, backend: a}]\n"
             "backends: [{name: a, endpoints: [{address: \"10.0.0.1:1\"}, {address: \"10.0.0.2:1\"}]}]\n");
  const Outcome text = ebbgate({"check", "-c", folder / "gate.yaml"});
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.out, folder / "gate.yaml: ok (1 listener, 2 routes, 1 backend, 2 endpoints)\n");
  const Outcome json = ebbgate({"check", "-c", folder / "gate.yaml", "--json"});
  EXPECT_EQ(json.status, 0);
  EXPECT_THAT(json.out, HasSubstr(R"("ok":true,"listeners":1,"routes":2,"backends":1,"endpoints":2,"errors":[]})"));
}

TEST(Check, PrintsAllErrors) {
  const TemporaryFolder folder;
  write_file(folder / "gate.yaml", "wrokers: 1\nlisteners:\n  - {name: \"we\\\"b\", bind: \":80\"}\n");
  const Outcome text = ebbgate({"check", "-c", folder / "gate.yaml"});
  EXPECT_EQ(text.status, 1);
  EXPECT_EQ(text.out, "");
  EXPECT_THAT(text.error,
              AllOf(HasSubstr("gate.yaml:1:1: wrokers: "), HasSubstr("gate.yaml:3:12: listeners[0].name: ")));
  const Outcome json = ebbgate({"check", "-c", folder / "gate.yaml", "--json"});
  EXPECT_EQ(json.status, 1);
  EXPECT_THAT(json.out, AllOf(HasSubstr(R"("ok":false)"), HasSubstr(R"("line":3,"column":12)"),
                              HasSubstr(R"(\"we\"b\" is not a usable name)")));
}

TEST(Check, LooksIntoCertificates) {
  const TemporaryFolder folder;
  write_file(folder / "gate.yaml",
             "listeners: [{name: tls, bind: \":443\", protocol: https, certificates: [{cert: a.pem, key: a.key}]}]\n");
  EXPECT_EQ(check(folder / "gate.yaml").errors.size(), 2u);
  write_file(folder / "a.pem", "not a certificate");
  write_file(folder / "a.key", "not a key");
  const CheckReport report = check(folder / "gate.yaml");
  ASSERT_EQ(report.errors.size(), 1u);
  EXPECT_THAT(report.text(), AllOf(HasSubstr("listener \"tls\": "), HasSubstr("a.pem holds no certificate")));
}

}  // namespace
}  // namespace ebb::app
