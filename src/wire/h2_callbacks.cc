// Makes an nghttp2 session: callbacks, options, our SETTINGS and windows. Each callback forwards from C to a member of
// State. Next: h2_events (input), h2_output (output).
#include "wire/h2_memory.h"
#include "wire/h2_state.h"

namespace ebb::wire {
namespace {

std::string_view view_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

struct CallbacksDeleter {
  void operator()(nghttp2_session_callbacks* callbacks) const { nghttp2_session_callbacks_del(callbacks); }
};
struct OptionDeleter {
  void operator()(nghttp2_option* option) const { nghttp2_option_del(option); }
};

// Acknowledgements that wait to be sent; with more, the peer does not read the answers that it requests.
constexpr std::size_t acks_waiting_max = 256;

std::unique_ptr<nghttp2_option, OptionDeleter> make_option() {
  nghttp2_option* option = nullptr;
  EBB_ASSERT(nghttp2_option_new(&option) == 0);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_max_outbound_ack(option, acks_waiting_max);
  nghttp2_option_set_max_continuations(option, H2Budget::continuations_max);
  nghttp2_option_set_builtin_recv_extension_type(option, NGHTTP2_PRIORITY_UPDATE);
  // Resets have a budget of our own: nghttp2's reads the machine's clock.
  nghttp2_option_set_stream_reset_rate_limit(option, std::uint64_t{1} << 62, 1);
  return std::unique_ptr<nghttp2_option, OptionDeleter>(option);
}

}  // namespace

struct H2Session::State::Callbacks {
  static State& state(void* user_data) { return *static_cast<State*>(user_data); }

  static int begin_headers(nghttp2_session*, const nghttp2_frame*, void* user_data) {
    state(user_data).block.clear();
    return 0;
  }
  static int header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t name_size,
                    const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user_data) {
    State& self = state(user_data);
    self.block.add(view_of(name, name_size), view_of(value, value_size));
    if (self.block.decoded() > std::size_t{self.limits.head.head_bytes} * H2Budget::block_bytes_factor) {
      self.fail_flood("header block unpacks far beyond the limit");
    }
    return self.result();
  }
  // By default nghttp2 drops a field with invalid bytes and continues; RFC 9113 8.2.1 calls the message malformed.
  static int invalid_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t*, std::size_t,
                            const std::uint8_t*, std::size_t, std::uint8_t, void*) {
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  static int invalid_frame(nghttp2_session*, const nghttp2_frame*, int, void* user_data) {
    State& self = state(user_data);
    self.spend(self.budget.take_fault(self.now));
    return self.result();
  }
  static int data_chunk(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t size,
                        void* user_data) {
    State& self = state(user_data);
    self.payload_came(id, reinterpret_cast<const char*>(data), size);
    return self.result();
  }
  static int frame_received(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    State& self = state(user_data);
    self.frame_came(*frame);
    return self.result();
  }
  static int stream_close(nghttp2_session*, std::int32_t id, std::uint32_t code, void* user_data) {
    state(user_data).stream_closed(id, code);
    return 0;  // also from within nghttp2_session_mem_send, which must still reach the GOAWAY
  }
  static int frame_sent(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    state(user_data).frame_left(*frame);
    return 0;
  }
  static int frame_not_sent(nghttp2_session*, const nghttp2_frame* frame, int, void* user_data) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    state(user_data).head_gone(frame->headers);
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      state(user_data).request_not_sent(frame->hd.stream_id);
    }
    return 0;
  }
  static int send_data(nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* frame_header, std::size_t size,
                       nghttp2_data_source*, void* user_data) {
    return state(user_data).take_payload(frame->hd.stream_id, view_of(frame_header, FrameHeader::size), size);
  }

  static std::unique_ptr<nghttp2_session_callbacks, CallbacksDeleter> make() {
    nghttp2_session_callbacks* callbacks = nullptr;
    EBB_ASSERT(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, invalid_header);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, invalid_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_received);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frame_sent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, frame_not_sent);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
    return std::unique_ptr<nghttp2_session_callbacks, CallbacksDeleter>(callbacks);
  }
};

nghttp2_data_provider H2Session::State::payload_provider() {
  const auto read = [](nghttp2_session*, std::int32_t id, std::uint8_t*, std::size_t size_max, std::uint32_t* flags,
                       nghttp2_data_source* source,
                       void*) { return static_cast<State*>(source->ptr)->offer_payload(id, size_max, *flags); };
  return {.source = {.ptr = this}, .read_callback = read};
}

NghttpSession H2Session::State::make_session() {
  static const auto callbacks = Callbacks::make();  // nghttp2 copies both
  static const auto option = make_option();
  nghttp2_session* made = nullptr;
  const bool server = role == Role::server;
  const auto create = server ? nghttp2_session_server_new3 : nghttp2_session_client_new3;
  EBB_ASSERT(create(&made, callbacks.get(), this, option.get(), h2_memory()) == 0);

  // RFC 9218 2.1: the tree of RFC 7540 is not used; urgency comes from the priority field and PRIORITY_UPDATE.
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.stream_window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.head.head_bytes},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
      // The last entry differs: a server offers extended CONNECT (RFC 8441 3), a client refuses push.
      {server ? NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL : NGHTTP2_SETTINGS_ENABLE_PUSH, server ? 1u : 0u},
  };
  EBB_ASSERT(nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0);
  EBB_ASSERT(nghttp2_session_set_local_window_size(made, NGHTTP2_FLAG_NONE, 0,
                                                   static_cast<std::int32_t>(limits.connection_window)) == 0);
  return NghttpSession(made);
}

}  // namespace ebb::wire
