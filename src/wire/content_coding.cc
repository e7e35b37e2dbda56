#include "wire/content_coding.h"

#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

#include "wire/h1_field.h"

namespace ebb::wire {

namespace {

using After = Encoder::After;

constexpr std::uint32_t piece = base::BlockPool::body_size;

// "q=0", "q=0.0", "q=0.000" refuse; other weights give an order, but the router uses its own.
bool refused(std::string_view weight) {
  if (weight.size() < 3 || (weight[0] != 'q' && weight[0] != 'Q') || weight[1] != '=') return false;
  return weight.substr(2).find_first_not_of("0.") == std::string_view::npos;
}

class Gzip final : public Encoder {
 public:
  Gzip() {
    constexpr int gzip_header = 16;
    constexpr int window_bits = 14;
    constexpr int memory_level = 7;  // together 140 KiB
    deflateInit2(&stream_, 5, Z_DEFLATED, window_bits + gzip_header, memory_level, Z_DEFAULT_STRATEGY);
  }
  ~Gzip() override { deflateEnd(&stream_); }

  void encode(base::BlockPool& pool, std::string_view payload, After after, base::Chain& out) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(payload.data()));
    stream_.avail_in = static_cast<uInt>(payload.size());
    const int mode = after == After::more ? Z_NO_FLUSH : after == After::flush ? Z_SYNC_FLUSH : Z_FINISH;
    bool full = true;
    while (full) {
      base::Slice room = pool.take(piece);
      stream_.next_out = reinterpret_cast<Bytef*>(room.mutable_data());
      stream_.avail_out = piece;
      deflate(&stream_, mode);
      full = stream_.avail_out == 0;
      room.extend(piece - stream_.avail_out);
      if (!room.empty()) out.push(std::move(room));
    }
  }

 private:
  z_stream stream_{};
};

class Brotli final : public Encoder {
 public:
  Brotli() : state_(BrotliEncoderCreateInstance(nullptr, nullptr, nullptr)) {
    BrotliEncoderSetParameter(state_, BROTLI_PARAM_QUALITY, 4);
    BrotliEncoderSetParameter(state_, BROTLI_PARAM_LGWIN, 17);
  }
  ~Brotli() override { BrotliEncoderDestroyInstance(state_); }

  void encode(base::BlockPool& pool, std::string_view payload, After after, base::Chain& out) override {
    const BrotliEncoderOperation mode = after == After::more    ? BROTLI_OPERATION_PROCESS
                                        : after == After::flush ? BROTLI_OPERATION_FLUSH
                                                                : BROTLI_OPERATION_FINISH;
    std::size_t unread = payload.size();
    const auto* next = reinterpret_cast<const std::uint8_t*>(payload.data());
    do {
      base::Slice room = pool.take(piece);
      std::size_t space = piece;
      auto* into = reinterpret_cast<std::uint8_t*>(room.mutable_data());
      BrotliEncoderCompressStream(state_, mode, &unread, &next, &space, &into, nullptr);
      room.extend(static_cast<std::uint32_t>(piece - space));
      if (!room.empty()) out.push(std::move(room));
    } while (unread > 0 || BrotliEncoderHasMoreOutput(state_));
  }

 private:
  BrotliEncoderState* state_;
};

class Zstd final : public Encoder {
 public:
  Zstd() : context_(ZSTD_createCCtx()) {
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, 3);
    ZSTD_CCtx_setParameter(context_, ZSTD_c_windowLog, 17);
  }
  ~Zstd() override { ZSTD_freeCCtx(context_); }

  void encode(base::BlockPool& pool, std::string_view payload, After after, base::Chain& out) override {
    ZSTD_inBuffer input{payload.data(), payload.size(), 0};
    const ZSTD_EndDirective mode = after == After::more    ? ZSTD_e_continue
                                   : after == After::flush ? ZSTD_e_flush
                                                           : ZSTD_e_end;
    bool done = false;
    while (!done) {
      base::Slice room = pool.take(piece);
      ZSTD_outBuffer output{room.mutable_data(), piece, 0};
      const std::size_t left = ZSTD_compressStream2(context_, &output, &input, mode);
      done = mode == ZSTD_e_continue ? input.pos == input.size : left == 0;
      room.extend(static_cast<std::uint32_t>(output.pos));
      if (!room.empty()) out.push(std::move(room));
    }
  }

 private:
  ZSTD_CCtx* context_;
};

}  // namespace

std::string_view name(ContentCoding coding) {
  switch (coding) {
    case ContentCoding::gzip: return "gzip";
    case ContentCoding::brotli: return "br";
    case ContentCoding::zstd: return "zstd";
  }
  return "gzip";
}

bool accepts(std::string_view accept_encoding, ContentCoding coding) {
  bool any = false;
  ListWalk elements(accept_encoding);
  for (std::string_view element; elements.next(element);) {
    const std::size_t semicolon = element.find(';');
    const std::string_view token = without_blanks(element.substr(0, semicolon));
    const bool no = semicolon != std::string_view::npos && refused(without_blanks(element.substr(semicolon + 1)));
    if (equals_ignoring_case(token, name(coding))) return !no;
    if (token == "*") any = !no;
  }
  return any;
}

// Measured with the windows above.
std::size_t Encoder::memory(ContentCoding coding) {
  switch (coding) {
    case ContentCoding::gzip: return std::size_t{140} << 10;
    case ContentCoding::brotli: return std::size_t{1080} << 10;
    case ContentCoding::zstd: return std::size_t{1664} << 10;
  }
  return 0;
}

std::unique_ptr<Encoder> Encoder::make(ContentCoding coding) {
  switch (coding) {
    case ContentCoding::gzip: return std::make_unique<Gzip>();
    case ContentCoding::brotli: return std::make_unique<Brotli>();
    case ContentCoding::zstd: return std::make_unique<Zstd>();
  }
  return nullptr;
}

}  // namespace ebb::wire
