#include "config/certificates.h"

#include "config/file.h"

namespace ebb::config {

namespace {

// A chain of ten RSA-4096 certificates has about 25 KiB.
constexpr std::size_t file_bytes_max = std::size_t{1} << 20;

}  // namespace

std::expected<std::vector<CertificateText>, Diagnostics> read_certificates(const routes::ListenerModel& listener) {
  std::vector<CertificateText> texts;
  Diagnostics diagnostics;
  const auto read = [&](const std::string& path, const char* kind) {
    auto content = read_file(path, file_bytes_max);
    if (content) return std::move(*content);
    diagnostics.push_back({path, 0, 0, "",
                           "the " + std::string(kind) + " of listener \"" + listener.name + "\" " + content.error(),
                           "put the file there and let this process read it, or correct the path"});
    return std::string();
  };
  for (const routes::CertificateFiles& files : listener.certificates) {
    std::string certificate = read(files.certificate, "certificate");
    std::string key = read(files.key, "key");
    texts.push_back({std::move(certificate), std::move(key), files.certificate});
  }
  if (!diagnostics.empty()) return std::unexpected(std::move(diagnostics));
  return texts;
}

}  // namespace ebb::config
