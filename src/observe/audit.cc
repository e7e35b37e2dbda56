#include "observe/audit.h"

#include <algorithm>
#include <iterator>

namespace ebb::observe {

namespace {

auto order(const Claim& claim) {
  return std::tuple(claim.descriptor, claim.room, claim.owner.kind, claim.owner.handle.slot);
}

DifferenceKind kind_of(Claim::Flaw flaw) {
  switch (flaw) {
    case Claim::Flaw::disowned: return DifferenceKind::disowned;
    case Claim::Flaw::without_socket: return DifferenceKind::without_socket;
    default: return DifferenceKind::unburied;
  }
}

// Finds the holder of a descriptor number, and other holders of the same number.
class Holder {
 public:
  explicit Holder(std::vector<Difference>& found) : found_(found) {}

  void hold(const Claim& claim, const OpenDescriptor* open) {
    const std::uint64_t inode = open == nullptr ? 0 : open->inode;
    const auto differs = [&](DifferenceKind kind) { found_.push_back({kind, claim.descriptor, inode, claim}); };
    if (claim.flaw != Claim::Flaw::none) differs(kind_of(claim.flaw));
    if (claim.flaw == Claim::Flaw::without_socket) return;
    if (open == nullptr) return differs(DifferenceKind::closed);
    if (claim.inode != 0 && claim.inode != inode) return differs(DifferenceKind::replaced);
    if (held_ == claim.descriptor) differs(DifferenceKind::shared);
    held_ = claim.descriptor;
  }
  bool holds(int descriptor) const { return held_ == descriptor; }

 private:
  std::vector<Difference>& found_;
  int held_ = -1;
};

}  // namespace

std::vector<Difference> compare(std::span<Claim> book, std::span<const OpenDescriptor> open) {
  std::ranges::sort(book, {}, order);
  std::vector<Difference> found;
  Holder holder(found);
  auto claim = book.begin();
  for (const OpenDescriptor& one : open) {
    for (; claim != book.end() && claim->descriptor < one.number; ++claim) holder.hold(*claim, nullptr);
    for (; claim != book.end() && claim->descriptor == one.number; ++claim) holder.hold(*claim, &one);
    // Any thread may briefly open a file to read it; an important file has a claim in the book.
    if (!holder.holds(one.number) && !one.file) {
      found.push_back({DifferenceKind::unclaimed, one.number, one.inode, {}});
    }
  }
  for (; claim != book.end(); ++claim) holder.hold(*claim, nullptr);
  return found;
}

std::vector<Difference> persisting(std::vector<Difference> first, std::vector<Difference> second) {
  std::ranges::sort(first, {}, &Difference::identity);
  std::ranges::sort(second, {}, &Difference::identity);
  std::vector<Difference> both;
  std::ranges::set_intersection(second, first, std::back_inserter(both), {}, &Difference::identity,
                                &Difference::identity);
  return both;
}

}  // namespace ebb::observe
