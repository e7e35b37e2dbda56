#include "wire/tls_bio.h"

#include <algorithm>
#include <cstring>

namespace ebb::wire {

namespace {

// Never reports end of input: the connection decides whether a FIN may come here, not TLS.
int read_input(BIO* bio, char* into, int wanted) {
  BIO_clear_retry_flags(bio);
  auto* transfer = static_cast<Transfer*>(BIO_get_data(bio));
  if (transfer == nullptr || transfer->input.empty()) {
    BIO_set_retry_read(bio);
    return -1;
  }
  const std::size_t count = std::min(transfer->input.size(), static_cast<std::size_t>(wanted));
  std::memcpy(into, transfer->input.data(), count);
  transfer->input.remove_prefix(count);
  return static_cast<int>(count);
}

// Fills the last block before taking another, so that the records of a body lie back to back and one writev carries
// many. Continued output gets large blocks; a single small answer gets a small block.
int write_output(BIO* bio, const char* from, int count) {
  BIO_clear_retry_flags(bio);
  auto* transfer = static_cast<Transfer*>(BIO_get_data(bio));
  if (transfer == nullptr) return -1;
  base::Chain& output = transfer->output;
  std::string_view rest(from, static_cast<std::size_t>(count));
  const bool goes_on = !output.empty();
  if (goes_on && !output.back().block()->shared()) {
    const std::string_view fits = rest.substr(0, output.back().room());
    output.append(transfer->pool, fits);
    rest.remove_prefix(fits.size());
  }
  while (!rest.empty()) {
    const std::string_view fits = rest.substr(0, base::BlockPool::large_size);
    base::Slice block =
        transfer->pool.take(goes_on ? base::BlockPool::large_size : static_cast<std::uint32_t>(fits.size()));
    block.append(fits);
    output.push(std::move(block));
    rest.remove_prefix(fits.size());
  }
  return count;
}

long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* make_method() {
  BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "ebb transfer");
  EBB_ASSERT(method != nullptr);
  BIO_meth_set_read(method, read_input);
  BIO_meth_set_write(method, write_output);
  BIO_meth_set_ctrl(method, control);
  return method;
}

BIO* make_bio() {
  static BIO_METHOD* const method = make_method();
  BIO* bio = BIO_new(method);
  EBB_ASSERT(bio != nullptr);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace

BIO* thread_bio() {
  static thread_local const BioPointer bio(make_bio());
  return bio.get();
}

}  // namespace ebb::wire
