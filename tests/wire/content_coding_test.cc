#include "wire/content_coding.h"

#include <brotli/decode.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <string>

#include "base/rng.h"

namespace ebb::wire {
namespace {

std::string joined(base::Chain& chain) {
  std::string text;
  while (!chain.empty()) text += chain.pop_front().view();
  return text;
}

// As much as the bytes so far give, by libraries' own decoders.
std::string decoded(ContentCoding coding, const std::string& bytes) {
  std::string out(1 << 20, '\0');
  if (coding == ContentCoding::gzip) {
    z_stream stream{};
    inflateInit2(&stream, 15 + 16);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    inflate(&stream, Z_SYNC_FLUSH);
    out.resize(stream.total_out);
    inflateEnd(&stream);
  } else if (coding == ContentCoding::brotli) {
    BrotliDecoderState* state = BrotliDecoderCreateInstance(nullptr, nullptr, nullptr);
    std::size_t unread = bytes.size();
    const auto* next = reinterpret_cast<const std::uint8_t*>(bytes.data());
    std::size_t space = out.size();
    auto* into = reinterpret_cast<std::uint8_t*>(out.data());
    BrotliDecoderDecompressStream(state, &unread, &next, &space, &into, nullptr);
    BrotliDecoderDestroyInstance(state);
    out.resize(out.size() - space);
  } else {
    ZSTD_DCtx* context = ZSTD_createDCtx();
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    while (input.pos < input.size && !ZSTD_isError(ZSTD_decompressStream(context, &output, &input))) {
    }
    ZSTD_freeDCtx(context);
    out.resize(output.pos);
  }
  return out;
}

class ContentCodingTest : public testing::TestWithParam<ContentCoding> {
 protected:
  base::BlockPool pool_;
};

TEST_P(ContentCodingTest, WhatComesOutIsWhatWentInInAnyPieces) {
  base::Rng rng(11);
  for (int run = 0; run < 10; ++run) {
    const auto encoder = Encoder::make(GetParam());
    std::string text;
    base::Chain out;
    for (int i = 0; i < 40; ++i) {
      std::string piece(rng.below(8000), static_cast<char>('a' + rng.below(26)));
      for (char& c : piece) c = rng.chance(100) ? static_cast<char>(rng.below(256)) : c;
      text += piece;
      encoder->encode(pool_, piece, rng.chance(200) ? Encoder::After::flush : Encoder::After::more, out);
    }
    encoder->encode(pool_, {}, Encoder::After::end, out);
    EXPECT_LT(out.bytes(), text.size());
    EXPECT_EQ(decoded(GetParam(), joined(out)), text);
  }
}

TEST_P(ContentCodingTest, AFlushMakesReadableWhatWasGiven) {
  const auto encoder = Encoder::make(GetParam());
  std::string bytes;
  std::string text;
  for (const std::string event : {"data: one\n\n", "data: two\n\n", "data: three\n\n"}) {
    base::Chain out;
    encoder->encode(pool_, event, Encoder::After::flush, out);
    bytes += joined(out);
    text += event;
    EXPECT_EQ(decoded(GetParam(), bytes), text);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ContentCodingTest,
                         testing::Values(ContentCoding::gzip, ContentCoding::brotli, ContentCoding::zstd));

TEST(AcceptEncoding, NamesStarsAndWeightsOfZero) {
  EXPECT_TRUE(accepts("gzip, br", ContentCoding::brotli));
  EXPECT_TRUE(accepts("GZIP;q=0.5", ContentCoding::gzip));
  EXPECT_TRUE(accepts("*", ContentCoding::zstd));
  EXPECT_TRUE(accepts("*;q=0, gzip", ContentCoding::gzip));
  EXPECT_FALSE(accepts("*;q=0, gzip", ContentCoding::zstd));
  EXPECT_FALSE(accepts("gzip;q=0", ContentCoding::gzip));
  EXPECT_FALSE(accepts("gzip; q=0.000, *", ContentCoding::gzip));
  EXPECT_FALSE(accepts("", ContentCoding::gzip));
  EXPECT_FALSE(accepts("gzipped", ContentCoding::gzip));
}

}  // namespace
}  // namespace ebb::wire
