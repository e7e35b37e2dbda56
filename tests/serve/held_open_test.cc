// Who makes room for a new connection.
#include "serve/held_open.h"

#include <gtest/gtest.h>

namespace ebb::serve {
namespace {

base::Instant at(int seconds) { return base::Instant(std::chrono::seconds{seconds}); }

TEST(HeldOpen, NamesNothingWhereNoneIs) { EXPECT_FALSE(HeldOpen().to_close()); }

TEST(HeldOpen, NamesTheOneThatHasWaitedForLongest) {
  HeldOpen all;
  all.add(Held::between_requests, at(5), {1, 1});
  all.add(Held::between_requests, at(3), {2, 1});
  all.add(Held::between_requests, at(4), {3, 1});
  EXPECT_EQ(all.to_close(), (base::Handle{2, 1}));
}

TEST(HeldOpen, SparesANewcomerAmongMany) {
  HeldOpen all;
  all.add(Held::never_asked, at(9), {1, 1});
  all.add(Held::between_requests, at(5), {2, 1});
  all.add(Held::between_requests, at(6), {3, 1});
  EXPECT_EQ(all.to_close(), (base::Handle{2, 1}));
}

TEST(HeldOpen, TakesOneThatHasNeverAskedFromEqualGroups) {
  HeldOpen all;
  all.add(Held::answered, at(1), {1, 1});
  all.add(Held::never_asked, at(9), {2, 1});
  EXPECT_EQ(all.to_close(), (base::Handle{2, 1}));
}

}  // namespace
}  // namespace ebb::serve
