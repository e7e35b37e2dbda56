// Intrusive doubly linked list: no allocation, unlink in O(1), a node removes itself when it dies.
#pragma once

#include <cstddef>

#include "base/assert.h"

namespace ebb::base {

template <class Tag = void>
class ListNode {
 public:
  ListNode() = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;
  ~ListNode() { unlink(); }

  bool linked() const { return next_ != nullptr; }
  void unlink() {
    if (!linked()) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = nullptr;
  }

 private:
  template <class T, class ListTag>
  friend class List;
  ListNode* previous_ = nullptr;
  ListNode* next_ = nullptr;
};

// T derives from ListNode<Tag>.
template <class T, class Tag = void>
class List {
  using Node = ListNode<Tag>;

 public:
  List() { head_.previous_ = head_.next_ = &head_; }
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  ~List() {
    while (!empty()) front()->Node::unlink();
    head_.previous_ = head_.next_ = nullptr;
  }

  bool empty() const { return head_.next_ == &head_; }
  T* front() { return empty() ? nullptr : static_cast<T*>(head_.next_); }
  T* back() { return empty() ? nullptr : static_cast<T*>(head_.previous_); }
  void push_front(T& item) { insert(item, head_, *head_.next_); }
  void push_back(T& item) { insert(item, *head_.previous_, head_); }
  T* pop_front() {
    T* item = front();
    if (item != nullptr) item->Node::unlink();
    return item;
  }
  T* next(T& item) {
    Node* node = static_cast<Node&>(item).next_;
    return node == &head_ ? nullptr : static_cast<T*>(node);
  }
  // Takes all items of the other list, in order.
  void splice_back(List& other) {
    if (other.empty()) return;
    Node* first = other.head_.next_;
    Node* last = other.head_.previous_;
    other.head_.previous_ = other.head_.next_ = &other.head_;
    first->previous_ = head_.previous_;
    head_.previous_->next_ = first;
    last->next_ = &head_;
    head_.previous_ = last;
  }

 private:
  void insert(T& item, Node& before, Node& after) {
    Node& node = item;
    EBB_ASSERT(!node.linked());
    node.previous_ = &before;
    node.next_ = &after;
    before.next_ = &node;
    after.previous_ = &node;
  }

  Node head_;
};

}  // namespace ebb::base
