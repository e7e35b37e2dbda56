#include "reap/bpf_kernel.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace ebb::reap {
namespace {

using reactor::Descriptor;

constexpr std::size_t verifier_log_bytes = 64 * 1024;

// Fields that a command does not use must be zero, padding included.
bpf_attr cleared() {
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof(attributes));
  return attributes;
}

int bpf(bpf_cmd command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof(attributes)));
}

template <class T>
std::uint64_t address_of(T* what) {
  return reinterpret_cast<std::uintptr_t>(what);
}

std::unexpected<std::string> refused(std::string what) {
  return std::unexpected(std::move(what) + ": " + std::strerror(errno));
}

// The last line that is not statistics states the error.
std::string complaint_in(const std::string& log) {
  const std::size_t end = log.find("\nprocessed ");
  if (end == std::string::npos) return log;
  const std::size_t begin = log.rfind('\n', end - 1);
  return log.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? 0 : begin + 1));
}

}  // namespace

std::expected<Descriptor, std::string> make_bpf_numbers(std::size_t count) {
  bpf_attr attributes = cleared();
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = sizeof(std::uint32_t);
  attributes.value_size = static_cast<std::uint32_t>(count * sizeof(std::uint64_t));
  attributes.max_entries = 1;
  Descriptor map(bpf(BPF_MAP_CREATE, attributes));
  if (!map) return refused("a BPF array cannot be made");
  return map;
}

bool read_bpf_numbers(int map, std::span<std::uint64_t> into) {
  const std::uint32_t first = 0;
  bpf_attr attributes = cleared();
  attributes.map_fd = static_cast<std::uint32_t>(map);
  attributes.key = address_of(&first);
  attributes.value = address_of(into.data());
  return bpf(BPF_MAP_LOOKUP_ELEM, attributes) == 0;
}

std::expected<Descriptor, std::string> load_sock_ops(std::span<const bpf_insn> program) {
  constexpr const char* license = "Apache-2.0";  // no helper requires the GPL
  bpf_attr attributes = cleared();
  attributes.prog_type = BPF_PROG_TYPE_SOCK_OPS;
  attributes.insns = address_of(program.data());
  attributes.insn_cnt = static_cast<std::uint32_t>(program.size());
  attributes.license = address_of(license);
  std::strncpy(attributes.prog_name, "ebbgate_arm", sizeof(attributes.prog_name) - 1);
  Descriptor loaded(bpf(BPF_PROG_LOAD, attributes));
  if (loaded) return loaded;
  if (errno != EINVAL && errno != EACCES) return refused("the BPF program cannot be loaded");
  // Load again to get the reason: the verifier's log needs memory that a success does not.
  std::vector<char> log(verifier_log_bytes);
  attributes.log_buf = address_of(log.data());
  attributes.log_size = static_cast<std::uint32_t>(log.size());
  attributes.log_level = 1;
  loaded = Descriptor(bpf(BPF_PROG_LOAD, attributes));
  if (loaded) return loaded;
  return refused("the BPF program is refused (" + complaint_in(log.data()) + ")");
}

std::expected<Descriptor, std::string> attach_sock_ops(int program, const std::string& cgroup_folder) {
  const Descriptor cgroup(::open(cgroup_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!cgroup) return refused(cgroup_folder);
  bpf_attr attributes = cleared();
  attributes.link_create.prog_fd = static_cast<std::uint32_t>(program);
  attributes.link_create.target_fd = static_cast<std::uint32_t>(cgroup.get());
  attributes.link_create.attach_type = BPF_CGROUP_SOCK_OPS;  // links always allow several (BPF_F_ALLOW_MULTI)
  Descriptor link(bpf(BPF_LINK_CREATE, attributes));
  if (!link) return refused("the BPF program cannot be attached to " + cgroup_folder);
  return link;
}

}  // namespace ebb::reap
