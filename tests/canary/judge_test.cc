#include "canary/judge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string_view>

#include "tests/project_folder.h"

namespace ebb::canary {
namespace {

using std::chrono::milliseconds;

Answer right_answer() {
  return {.status = 200,
          .nonce = "n1",
          .port = "8080",
          .pod = "canary-1",
          .node = "node-1",
          .generation = "7",
          .configuration = "beef",
          .body = "Healthcheck requested\n"};
}

Expectation full_expectation() {
  Expectation expected;
  expected.nonce = "n1";
  expected.ports = {8080};
  expected.pods = {"canary-1"};
  expected.generation = 7;
  expected.slow_above = milliseconds{100};
  return expected;
}

Fault fault_of(const Answer& answer, const Expectation& expected = full_expectation()) {
  return judge(answer, expected, milliseconds{1}).fault;
}

TEST(Fault, HasANameOfItsOwnAndWords) {
  std::set<std::string_view> names;
  for (const FaultFacts& fault : fault_table) {
    EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
    EXPECT_FALSE(fault.words.empty()) << fault.name;
    EXPECT_FALSE(fault.remedy.empty()) << fault.name;
  }
}

TEST(Fault, IsInTheDocumentation) {
  const auto page = project_folder() / "docs/canary.md";
  std::ifstream file(page);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  for (const FaultFacts& fault : std::span(fault_table).subspan(1)) {
    const std::string row = fmt::format("| `{}` | {} | {} |\n", fault.name, fault.words, fault.remedy);
    EXPECT_NE(text.find(row), std::string::npos) << "docs/canary.md should have: " << row;
  }
}

TEST(Judge, RightAnswerHasNoFault) { EXPECT_EQ(fault_of(right_answer()), Fault::none); }

// Each row breaks one thing and all that is looked at after it.
TEST(Judge, LooksInItsOrder) {
  Answer answer = right_answer();
  EXPECT_EQ(judge(answer, full_expectation(), milliseconds{101}).fault, Fault::slow);
  answer.generation = "6";
  EXPECT_EQ(judge(answer, full_expectation(), milliseconds{101}).fault, Fault::stale_generation);
  answer.pod = "shop-1";
  EXPECT_EQ(fault_of(answer), Fault::wrong_backend);
  answer.port = "8888";
  EXPECT_EQ(fault_of(answer), Fault::wrong_port);
  answer.body = "It works!";
  EXPECT_EQ(fault_of(answer), Fault::wrong_body);
  answer.nonce = "n0";
  EXPECT_EQ(judge(answer, full_expectation(), milliseconds{1}).detail, "the nonce is that of another request");
  answer.status = 503;
  EXPECT_EQ(fault_of(answer), Fault::status_5xx);
}

TEST(Judge, EachClassOfStatusIsAFaultOfItsOwn) {
  Answer answer = right_answer();
  for (const auto& [status, fault] : {std::pair{101, Fault::status_1xx},
                                      {204, Fault::status_2xx},
                                      {302, Fault::status_3xx},
                                      {404, Fault::status_4xx},
                                      {500, Fault::status_5xx},
                                      {599, Fault::status_5xx}}) {
    answer.status = static_cast<std::uint16_t>(status);
    EXPECT_EQ(fault_of(answer), fault) << status;
  }
}

TEST(Judge, MissingFieldsAreWrongWhereTheyAreAskedFor) {
  const auto without = [](auto Answer::* field) {
    Answer answer = right_answer();
    (answer.*field).reset();
    return fault_of(answer);
  };
  EXPECT_EQ(without(&Answer::nonce), Fault::wrong_body);
  EXPECT_EQ(without(&Answer::port), Fault::wrong_port);
  EXPECT_EQ(without(&Answer::pod), Fault::wrong_backend);
  EXPECT_EQ(without(&Answer::generation), Fault::stale_generation);
  EXPECT_EQ(without(&Answer::node), Fault::none);
}

TEST(Judge, StaleDigestMustNotBeShown) {
  Expectation expected = full_expectation();
  expected.stale_digest = "dead";
  EXPECT_EQ(fault_of(right_answer(), expected), Fault::none);
  Answer answer = right_answer();
  answer.configuration = "dead";
  EXPECT_EQ(fault_of(answer, expected), Fault::stale_generation);
  answer.configuration.reset();
  EXPECT_EQ(fault_of(answer, expected), Fault::none);
  expected.stale_digest = "";
  EXPECT_EQ(fault_of(answer, expected), Fault::stale_generation);
}

TEST(Judge, NumbersMustBeNumbers) {
  Answer answer = right_answer();
  for (const char* const port : {"", "808O", "8080 ", "-1", "65536", "99999999999999999999"}) {
    answer.port = port;
    EXPECT_EQ(fault_of(answer), Fault::wrong_port) << port;
  }
  answer = right_answer();
  for (const char* const generation : {"", "seven", "7x", "-7", "99999999999999999999"}) {
    answer.generation = generation;
    EXPECT_EQ(fault_of(answer), Fault::stale_generation) << generation;
  }
}

TEST(Judge, LaterGenerationIsRight) {
  Answer answer = right_answer();
  answer.generation = "8";
  EXPECT_EQ(fault_of(answer), Fault::none);
}

TEST(Judge, PodsMayBeNamedByTheirBeginning) {
  Expectation expected = full_expectation();
  Answer answer = right_answer();
  answer.pod = "canary-7d9";
  EXPECT_EQ(fault_of(answer, expected), Fault::wrong_backend);
  expected.pods = {"shop-1", "canary-*"};
  EXPECT_EQ(fault_of(answer, expected), Fault::none);
  for (const char* const stranger : {"canary", "shop-12", "", "*"}) {
    answer.pod = stranger;
    EXPECT_EQ(fault_of(answer, expected), Fault::wrong_backend) << stranger;
  }
}

TEST(Judge, WhatIsNotAskedForIsNotLookedAt) {
  Answer answer = right_answer();
  answer.port.reset();
  answer.pod.reset();
  answer.generation.reset();
  Expectation expected;
  expected.nonce = "n1";
  EXPECT_EQ(fault_of(answer, expected), Fault::none);
}

TEST(Judge, AnyServerWillDoWhereNoEchoIsRequired) {
  Expectation expected;
  expected.nonce = "n1";
  expected.echo = Echo::if_present;
  EXPECT_EQ(fault_of({.status = 200, .body = "It works!"}, expected), Fault::none);
  EXPECT_EQ(fault_of({.status = 200, .nonce = "n0", .body = "Healthcheck requested"}, expected), Fault::wrong_body);
  EXPECT_EQ(fault_of({.status = 200, .nonce = "n1", .body = "It works!"}, expected), Fault::wrong_body);
}

}  // namespace
}  // namespace ebb::canary
