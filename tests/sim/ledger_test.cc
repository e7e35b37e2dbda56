// What the Ledger says of requests that the router has given up because of something that it only inferred.
#include "sim/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ebb::sim {
namespace {

using testing::HasSubstr;

struct Given {
  const char* method = "GET";
  const char* cause = "backend_silent";
  bool one_is_ill = false;
};

// The failure of a world in which a request of one backend was refused.
std::string refused(const Given& given) {
  World world(1);
  Ledger ledger(world);
  ledger.set_retries(0, 2);
  Exchange& exchange = ledger.add({.backend = 0, .method = given.method});
  exchange.excuse = "whatever excuses its loss does not excuse this";
  exchange.cause = given.cause;
  if (given.one_is_ill) ledger.unwell(0);
  ledger.end(exchange.id, Outcome::refused, 504);
  return world.failure();
}

TEST(Ledger, AllowsNoInferenceWhereAllAreWell) {
  for (const char* cause : {"backend_silent", "backend_dead", "backend_failing", "backend_check_failed"})
    EXPECT_THAT(refused({.cause = cause}), HasSubstr("ended by inference, and all are well")) << cause;
  EXPECT_EQ(refused({.cause = "backend_response_timeout"}), "");
}

TEST(Ledger, AllowsInferenceToEndWhatCanBeRepeatedWhereOneIsIll) { EXPECT_EQ(refused({.one_is_ill = true}), ""); }

TEST(Ledger, AllowsSilenceToEndNothingThatCannotBeRepeated) {
  EXPECT_THAT(refused({.method = "POST", .one_is_ill = true}), HasSubstr("ended by silence alone"));
  EXPECT_EQ(refused({.method = "POST", .cause = "backend_dead", .one_is_ill = true}), "");
}

}  // namespace
}  // namespace ebb::sim
