#include "base/list.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace ebb::base {
namespace {

struct Red;
struct Blue;
struct Item : ListNode<Red>, ListNode<Blue> {
  explicit Item(int number_of_item) : number(number_of_item) {}
  int number;
};

std::vector<int> numbers(List<Item, Red>& list) {
  std::vector<int> result;
  for (Item* item = list.front(); item != nullptr; item = list.next(*item)) result.push_back(item->number);
  return result;
}

using Numbers = std::vector<int>;

TEST(List, KeepsTheOrderOfBothEnds) {
  Item one(1), two(2), three(3);
  List<Item, Red> list;
  EXPECT_EQ(list.front(), nullptr);
  EXPECT_EQ(list.pop_front(), nullptr);
  list.push_back(two);
  list.push_back(three);
  list.push_front(one);
  EXPECT_EQ(numbers(list), (Numbers{1, 2, 3}));
  EXPECT_EQ(list.back(), &three);
  EXPECT_EQ(list.pop_front(), &one);
  EXPECT_FALSE(one.ListNode<Red>::linked());
}

TEST(List, LetsAnItemLeaveFromTheMiddle) {
  Item one(1), two(2), three(3);
  List<Item, Red> list;
  for (Item* item : {&one, &two, &three}) list.push_back(*item);
  two.ListNode<Red>::unlink();
  two.ListNode<Red>::unlink();
  EXPECT_EQ(numbers(list), (Numbers{1, 3}));
}

TEST(List, ForgetsAnItemThatDies) {
  Item one(1);
  auto two = std::make_unique<Item>(2);
  List<Item, Red> list;
  list.push_back(one);
  list.push_back(*two);
  two.reset();
  EXPECT_EQ(numbers(list), (Numbers{1}));
}

TEST(List, LetsItsItemsGoWhenItDies) {
  Item one(1);
  {
    List<Item, Red> list;
    list.push_back(one);
  }
  EXPECT_FALSE(one.ListNode<Red>::linked());
}

TEST(List, HoldsAnItemIndependentlyOfAnotherList) {
  Item one(1);
  List<Item, Red> red;
  List<Item, Blue> blue;
  red.push_back(one);
  blue.push_back(one);
  EXPECT_EQ(red.pop_front(), &one);
  EXPECT_EQ(blue.front(), &one);
}

TEST(List, TakesAllItemsOfAnother) {
  Item one(1), two(2), three(3);
  List<Item, Red> list;
  List<Item, Red> other;
  list.splice_back(other);
  EXPECT_TRUE(list.empty());
  list.push_back(one);
  other.push_back(two);
  other.push_back(three);
  list.splice_back(other);
  EXPECT_EQ(numbers(list), (Numbers{1, 2, 3}));
  EXPECT_TRUE(other.empty());
  two.ListNode<Red>::unlink();
  EXPECT_EQ(numbers(list), (Numbers{1, 3}));
}

}  // namespace
}  // namespace ebb::base
