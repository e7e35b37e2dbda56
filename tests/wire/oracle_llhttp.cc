// llhttp, the parser of Node.js, in its strict mode, as Debian ships its C sources.
#include <llhttp.h>

#include "wire/oracle_verdict.h"

namespace ebb::wire::oracle {
namespace {

class Session {
 public:
  explicit Session(llhttp_type_t type) {
    llhttp_settings_init(&settings_);
    settings_.on_headers_complete = [](llhttp_t* parser) { return self(parser).headers_complete(); };
    settings_.on_message_complete = [](llhttp_t* parser) {
      self(parser).message_complete_ = true;
      return static_cast<int>(HPE_PAUSED);
    };
    settings_.on_body = [](llhttp_t* parser, const char* at, std::size_t size) {
      self(parser).payload_.append(at, size);
      return 0;
    };
    llhttp_init(&parser_, type, &settings_);
    parser_.data = this;
  }

  llhttp_errno_t feed(std::string_view bytes) {
    const llhttp_errno_t error = llhttp_execute(&parser_, bytes.data(), bytes.size());
    if (message_complete_) consumed_ = static_cast<std::size_t>(llhttp_get_error_pos(&parser_) - bytes.data());
    return error;
  }

  HeadVerdict head(std::string_view bytes) {
    const llhttp_errno_t error = feed(bytes);
    // Behind the empty line only a transfer coding that it cannot frame is still a matter of the head.
    if (headers_complete_ && error != HPE_INVALID_TRANSFER_ENCODING) {
      return {.status = Parsed::Status::complete, .framing = framing_, .content_length = content_length_};
    }
    return error == HPE_OK ? HeadVerdict{} : HeadVerdict{.status = Parsed::Status::refused, .why = why(error)};
  }

  BodyVerdict chunked(std::string_view bytes) {
    feed(chunked_head);
    const llhttp_errno_t error = feed(bytes);
    if (message_complete_) return {.status = Parsed::Status::complete, .payload = payload_, .consumed = consumed_};
    return error == HPE_OK ? BodyVerdict{} : BodyVerdict{.status = Parsed::Status::refused, .why = why(error)};
  }

 private:
  static Session& self(llhttp_t* parser) { return *static_cast<Session*>(parser->data); }

  int headers_complete() {
    headers_complete_ = true;
    const bool response = llhttp_get_type(&parser_) == HTTP_RESPONSE;
    const int status = llhttp_get_status_code(&parser_);
    if (response && (status < 200 || status == 204 || status == 304)) {
      framing_ = Framing::none;
    } else if ((parser_.flags & F_CHUNKED) != 0) {
      framing_ = Framing::chunked;
    } else if ((parser_.flags & F_CONTENT_LENGTH) != 0) {
      framing_ = Framing::length;
      content_length_ = parser_.content_length;
    } else {
      framing_ = llhttp_message_needs_eof(&parser_) != 0 ? Framing::until_close : Framing::none;
    }
    return 0;
  }

  std::string why(llhttp_errno_t error) {
    const char* reason = llhttp_get_error_reason(&parser_);
    return reason != nullptr && *reason != '\0' ? reason : llhttp_errno_name(error);
  }

  llhttp_settings_t settings_;
  llhttp_t parser_;
  bool headers_complete_ = false;
  bool message_complete_ = false;
  Framing framing_ = Framing::none;
  std::uint64_t content_length_ = 0;
  std::string payload_;
  std::size_t consumed_ = 0;
};

}  // namespace

Reader llhttp() {
  return {"llhttp", [](std::string_view bytes) { return Session(HTTP_REQUEST).head(bytes); },
          [](std::string_view bytes) { return Session(HTTP_RESPONSE).head(bytes); },
          [](std::string_view bytes) { return Session(HTTP_REQUEST).chunked(bytes); }};
}

}  // namespace ebb::wire::oracle
