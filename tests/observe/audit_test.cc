#include "observe/audit.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace ebb::observe {
namespace {

using Flaw = Claim::Flaw;
using Kind = DifferenceKind;

Claim held(int descriptor, std::uint64_t inode, std::uint32_t slot = 0) {
  return {.descriptor = descriptor,
          .kind = ClaimKind::client,
          .inode = inode,
          .socket = {slot, 1},
          .owner = {2, {slot, 1}}};
}

std::vector<Kind> kinds(const std::vector<Difference>& differences) {
  std::vector<Kind> all;
  for (const Difference& one : differences) all.push_back(one.kind);
  return all;
}

TEST(AuditCompare, FindsNothingWhereBothAgree) {
  Claims book = {held(9, 90, 2), held(4, 40, 1), {.descriptor = 3}};
  EXPECT_TRUE(compare(book, std::vector<OpenDescriptor>{{3, 13}, {4, 40}, {9, 90}}).empty());
  Claims nothing;
  EXPECT_TRUE(compare(nothing, {}).empty());
}

TEST(AuditCompare, FindsWhatNobodyHolds) {
  Claims book = {held(4, 40)};
  const auto found = compare(book, std::vector<OpenDescriptor>{{4, 40}, {5, 50}});
  ASSERT_EQ(kinds(found), std::vector{Kind::unclaimed});
  EXPECT_EQ(found[0].descriptor, 5);
  EXPECT_EQ(found[0].inode, 50u);
}

TEST(AuditCompare, LeavesFilesAlone) {
  Claims book;
  EXPECT_TRUE(compare(book, std::vector<OpenDescriptor>{{5, 50, true}}).empty());
}

TEST(AuditCompare, FindsWhatIsHeldAndNotOpen) {
  Claims book = {held(2, 20), held(4, 40), held(8, 80)};
  const auto found = compare(book, std::vector<OpenDescriptor>{{4, 40}});
  EXPECT_EQ(kinds(found), (std::vector{Kind::closed, Kind::closed}));
}

TEST(AuditCompare, FindsAnotherObjectUnderTheSameNumber) {
  Claims book = {held(4, 40)};
  const auto found = compare(book, std::vector<OpenDescriptor>{{4, 41}});
  // Nobody holds what is there now.
  EXPECT_EQ(kinds(found), (std::vector{Kind::replaced, Kind::unclaimed}));
  EXPECT_EQ(found[0].claim.inode, 40u);
  EXPECT_EQ(found[0].inode, 41u);
}

TEST(AuditCompare, FindsWhatIsHeldTwice) {
  Claims book = {held(4, 40, 1), held(4, 40, 2)};
  EXPECT_EQ(kinds(compare(book, std::vector<OpenDescriptor>{{4, 40}})), std::vector{Kind::shared});
  // A descriptor that one has lost and the other has got.
  book = {held(4, 40, 1), held(4, 41, 2)};
  EXPECT_EQ(kinds(compare(book, std::vector<OpenDescriptor>{{4, 41}})), std::vector{Kind::replaced});
}

TEST(AuditCompare, PassesOnWhatARoomFindsWrongItself) {
  Claims book = {held(4, 40, 1), held(5, 50, 2), held(-1, 0, 3)};
  book[0].flaw = Flaw::disowned;
  book[1].flaw = Flaw::unburied;
  book[2].flaw = Flaw::without_socket;
  const auto found = compare(book, std::vector<OpenDescriptor>{{4, 40}, {5, 50}});
  EXPECT_EQ(kinds(found), (std::vector{Kind::without_socket, Kind::disowned, Kind::unburied}));
}

TEST(AuditTwice, CountsOnlyWhatBothLooksFind) {
  const std::vector<OpenDescriptor> open = {{4, 40}, {5, 50}, {6, 60}};
  Claims none;
  const auto first = compare(none, open);
  ASSERT_EQ(first.size(), 3u);
  // 4 is in the book by now, 5 is another socket with the same number, 6 stays.
  Claims book = {held(4, 40)};
  const auto second = compare(book, std::vector<OpenDescriptor>{{4, 40}, {5, 51}, {6, 60}, {7, 70}});
  const auto both = persisting(first, second);
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].descriptor, 6);
}

TEST(AuditTwice, DoesNotTakeTheNextSocketOfASlotForTheLast) {
  Claims before = {held(4, 40, 1)};
  Claims after = {held(4, 40, 1)};
  after[0].socket.generation = 3;
  EXPECT_TRUE(persisting(compare(before, {}), compare(after, {})).empty());
  after[0].socket.generation = 1;
  EXPECT_EQ(persisting(compare(before, {}), compare(after, {})).size(), 1u);
}

TEST(OpenDescriptors, AreInOrderAndHaveTheirInodes) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const OpenDescriptors open = open_descriptors();
  EXPECT_TRUE(std::ranges::is_sorted(open, {}, &OpenDescriptor::number));
  const auto found = std::ranges::find(open, pair[0], &OpenDescriptor::number);
  ASSERT_NE(found, open.end());
  EXPECT_FALSE(found->file);
  EXPECT_EQ(describe_descriptor(pair[0]).object, "socket:[" + std::to_string(found->inode) + "]");
  ::close(pair[0]);
  ::close(pair[1]);
  EXPECT_EQ(describe_descriptor(pair[0]).object, "");
}

}  // namespace
}  // namespace ebb::observe
