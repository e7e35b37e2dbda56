// The terminal as a full screen with single keys. The destructor, and a handler for the signals of a crash, restore its
// settings.
#pragma once

#include <expected>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "census/screen.h"
#include "reactor/descriptor.h"

namespace ebb::app {

class Terminal {
 public:
  struct Event {
    enum class Kind : std::uint8_t { timeout, key, resized, end } kind = Kind::timeout;
    census::Key key = census::Key::character;
    char character = 0;
  };
  struct Size {
    std::size_t rows = 24;
    std::size_t columns = 80;
  };

  // The error: standard input or output is not a terminal.
  static std::expected<std::unique_ptr<Terminal>, std::string> open();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  Event wait(base::Duration timeout);
  Size size() const;
  void show(std::span<const std::string> lines);

 private:
  explicit Terminal(reactor::Descriptor signals) : signals_(std::move(signals)) {}
  Event next_key();

  reactor::Descriptor signals_;
  std::string typed_;  // bytes that are read but not yet decoded
};

}  // namespace ebb::app
