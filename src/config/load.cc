#include "config/load.h"

#include <algorithm>
#include <filesystem>

#include "config/digest.h"
#include "config/document.h"
#include "config/file.h"
#include "config/schema.h"
#include "config/suggest.h"
#include "routes/validate.h"

namespace ebb::config {

namespace {

// One byte more than a document may have: enough to notice that a file is too large.
constexpr std::size_t file_bytes_max = (std::size_t{16} << 20) + 1;

// sockaddr_un has 108 bytes; the socket is first bound to this name plus the process id, then renamed.
constexpr std::size_t runtime_path_max = 105;

std::string change(std::string_view key, const std::string& running, const std::string& wanted) {
  return std::string(key) + ": needs a restart to become " + wanted + "; this process goes on with " + running;
}

// An unreadable value has its default in the model; errors about that default would hide the cause. Likewise, a backend
// may seem missing because another value was unreadable.
bool follows_from_misreading(const routes::Refusal& refusal, const Reader& reader) {
  if (!refusal.unknown_backend.empty()) return reader.failed();
  const std::string_view key = refusal.key;
  return reader.failed_in(key.substr(0, std::min(key.rfind(']'), key.size() - 1) + 1));
}

// A misspelt backend name gets the same suggestion as a misspelt key.
std::string remedy_of(const routes::Refusal& refusal, const routes::Model& model) {
  if (refusal.unknown_backend.empty()) return refusal.remedy;
  std::vector<std::string_view> names;
  for (const routes::BackendModel& backend : model.backends) names.push_back(backend.name);
  const std::string suggestion = suggest(refusal.unknown_backend, names);
  return suggestion.starts_with("did you mean") ? suggestion : refusal.remedy;
}

}  // namespace

std::expected<Loaded, Diagnostics> load(const std::string& path) {
  const auto text = read_file(path, file_bytes_max);
  if (!text) {
    return std::unexpected(Diagnostics{{path, 0, 0, "", text.error(), "give the path of a readable file"}});
  }
  return load_text(*text, path);
}

std::expected<Loaded, Diagnostics> load_text(std::string_view text, const std::string& file, const Resolve& resolve) {
  const auto root = parse_document(text, file);
  if (!root) return std::unexpected(Diagnostics{root.error()});

  Reader reader(file, {std::filesystem::path(file).parent_path(), resolve});
  Loaded loaded;
  read_schema(reader, *root, loaded);
  loaded.model.digest = digest_of(*root);
  if (loaded.startup.runtime.size() > runtime_path_max) {
    reader.refuse_key(locate(*root, "runtime"), "runtime", "the path is too long for a unix socket",
                      "give one of at most " + std::to_string(runtime_path_max) + " bytes");
  }
  std::vector<routes::Refusal> refusals = routes::validate(loaded.model);
  std::erase_if(refusals, [&](const routes::Refusal& refusal) { return follows_from_misreading(refusal, reader); });
  for (routes::Refusal& refusal : refusals) {
    const Mark mark = locate(*root, refusal.key);
    std::string remedy = remedy_of(refusal, loaded.model);
    reader.refuse_key(mark, std::move(refusal.key), std::move(refusal.reason), std::move(remedy));
  }
  if (reader.failed()) return std::unexpected(reader.take());
  return loaded;
}

std::vector<std::string> needs_restart(const Startup& running, const Startup& wanted) {
  std::vector<std::string> changes;
  if (running.workers != wanted.workers) {
    changes.push_back(change("workers", WorkersFormat::show(running.workers), WorkersFormat::show(wanted.workers)));
  }
  if (running.io != wanted.io) changes.push_back(change("io", io_text(running.io), io_text(wanted.io)));
  if (running.admin != wanted.admin) {
    const bool same_address = running.admin.bind == wanted.admin.bind;
    changes.push_back(change("admin", same_address ? "the old settings" : running.admin.bind.text(),
                             same_address ? "effective" : wanted.admin.bind.text()));
  }
  if (running.audit_every != wanted.audit_every) {
    changes.push_back(
        change("audit.every", PeriodFormat::show(running.audit_every), PeriodFormat::show(wanted.audit_every)));
  }
  if (running.runtime != wanted.runtime) {
    const auto shown = [](const std::string& path) { return path.empty() ? "none" : path; };
    changes.push_back(change("runtime", shown(running.runtime), shown(wanted.runtime)));
  }
  return changes;
}

std::vector<std::string> files_of(const routes::Model& model) {
  std::vector<std::string> files;
  const auto add = [&files](const std::string& path) {
    if (!path.empty()) files.push_back(path);
  };
  const auto add_bodies = [&add](const std::vector<routes::ErrorBodyModel>& errors) {
    for (const routes::ErrorBodyModel& error : errors) add(error.file.path);
  };
  for (const routes::ListenerModel& listener : model.listeners) {
    for (const routes::CertificateFiles& certificate : listener.certificates) {
      add(certificate.certificate);
      add(certificate.key);
      add(certificate.ocsp);
    }
    add(listener.client_certificates.ca);
    add(listener.client_certificates.crl);
  }
  for (const routes::BackendModel& backend : model.backends) {
    if (!backend.tls) continue;
    add(backend.tls->ca);
    add(backend.tls->certificate);
    add(backend.tls->key);
  }
  if (model.canary) add(model.canary->ca);
  add_bodies(model.errors);
  for (const routes::RouteModel& route : model.routes) {
    if (route.policy) add_bodies(route.policy->errors);
  }
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

}  // namespace ebb::config
