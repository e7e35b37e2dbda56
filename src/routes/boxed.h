// An optional part that few owners have: a missing part costs only a pointer. Copies are deep, so models stay plain
// values. A hundred thousand routes without the part cost 8 bytes each.
#pragma once

#include <memory>
#include <utility>

namespace ebb::routes {

template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(const Boxed& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Boxed(Boxed&& other) noexcept = default;
  Boxed& operator=(Boxed other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }

  // The part; creates it if missing.
  T& make() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  explicit operator bool() const { return value_ != nullptr; }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace ebb::routes
