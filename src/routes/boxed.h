// A part that few owners have: it costs a pointer where it is missing. Copies are deep, so that models stay plain
// values; a hundred thousand routes without it cost 8 bytes each.
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

  // The part, made now if it was missing.
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
