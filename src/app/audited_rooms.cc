#include "app/audited_rooms.h"

#include <algorithm>

namespace ebb::app {

using observe::Claim;
using observe::ClaimKind;
using observe::Claims;

namespace {

observe::AuditedRoom audited_admin(admin::Server& admin) {
  return {.name = "admin",
          .post = [door = admin.door()](std::move_only_function<void()> task) { door->post(std::move(task)); },
          .walk = [&admin]() -> observe::AuditedRoom::Step {
            return [&admin](Claims& out) {
              admin.read_book(out);
              return false;
            };
          }};
}

observe::AuditedRoom audited_canary(control::CanaryProbing& canary) {
  return {.name = "canary",
          .post = [&canary](std::move_only_function<void()> task) { canary.post(std::move(task)); },
          .walk = [&canary]() -> observe::AuditedRoom::Step {
            return [&canary](Claims& out) {
              canary.read_book(out);
              return false;
            };
          }};
}

// Descriptors outside of any event loop. A log on standard output does not own its descriptor.
observe::AuditedRoom audited_process(control::FileProvider& file, const observe::AccessLog& access_log,
                                     observe::OpenDescriptors inherited) {
  auto list = [&file, &access_log, inherited = std::move(inherited)](Claims& out) {
    for (const observe::OpenDescriptor& one : inherited) {
      out.push_back({.descriptor = one.number, .kind = ClaimKind::inherited, .inode = one.inode});
    }
    const auto add = [&out, &inherited](ClaimKind kind, const std::vector<int>& descriptors) {
      for (const int descriptor : descriptors) {
        const auto known = std::ranges::find(inherited, descriptor, &observe::OpenDescriptor::number);
        if (descriptor >= 0 && known == inherited.end()) out.push_back({.descriptor = descriptor, .kind = kind});
      }
    };
    add(ClaimKind::log, access_log.descriptors());
    add(ClaimKind::watch, file.descriptors());
    return false;
  };
  return {.name = "process", .post = nullptr, .walk = [list]() -> observe::AuditedRoom::Step { return list; }};
}

}  // namespace

observe::AuditedRoom audited_worker(control::Fleet& fleet, std::size_t worker) {
  return {.name = "worker " + std::to_string(worker),
          .post = [&fleet, worker](std::move_only_function<void()> task) { fleet.post(worker, std::move(task)); },
          .walk = [&fleet, worker]() -> observe::AuditedRoom::Step {
            return [&fleet, worker, cursor = gate::BookCursor()](Claims& out) mutable {
              return fleet.worker(worker).read_book(cursor, out);
            };
          },
          .tell = [&fleet, worker](const Claim& claim) { return fleet.worker(worker).tell(claim); }};
}

std::vector<observe::AuditedRoom> audited_rooms(control::Fleet& fleet, admin::Server& admin,
                                                control::CanaryProbing& canary, control::FileProvider& file,
                                                const observe::AccessLog& access_log,
                                                observe::OpenDescriptors inherited) {
  std::vector<observe::AuditedRoom> rooms;
  for (std::size_t worker = 0; worker < fleet.size(); ++worker) rooms.push_back(audited_worker(fleet, worker));
  rooms.push_back(audited_admin(admin));
  rooms.push_back(audited_canary(canary));
  rooms.push_back(audited_process(file, access_log, std::move(inherited)));
  return rooms;
}

}  // namespace ebb::app
