// The blocks of a PEM file (RFC 7468). Lets callers refuse a file with half a block, or with useless blocks. OpenSSL
// reads only the first block of the wanted kind and ignores all others. Private to tls_*.cc.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace ebb::wire {

// The labels in order, such as "CERTIFICATE"; or the reason why a block is broken, to follow "FILE has".
std::expected<std::vector<std::string_view>, std::string> pem_labels(std::string_view text);

// Refuses lines outside all blocks that look like the content of a block whose first and last lines are lost.
std::expected<void, std::string> expect_no_stray_base64(std::string_view text);

}  // namespace ebb::wire
