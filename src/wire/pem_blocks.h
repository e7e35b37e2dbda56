// The blocks of a PEM file (RFC 7468). Lets callers refuse a file with half a block, or with blocks that have no use.
// OpenSSL reads the first block of the kind that it looks for and ignores all others. Private to tls_*.cc.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace ebb::wire {

// The labels in their order, "CERTIFICATE"; or why the blocks are not whole, for the words "FILE has".
std::expected<std::vector<std::string_view>, std::string> pem_labels(std::string_view text);

// Lines outside all blocks that look like the inside of one, whose first and last lines are lost, are said likewise.
std::expected<void, std::string> expect_no_stray_base64(std::string_view text);

}  // namespace ebb::wire
