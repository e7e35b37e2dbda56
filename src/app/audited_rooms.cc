#include "app/audited_rooms.h"

#include <algorithm>

namespace ebb::app {

using observe::Claim;
using observe::ClaimKind;
using observe::Claims;

namespace {

AuditedRoom audited_admin(admin::Server& admin) {
  return {.name = "admin",
          .post = [door = admin.door()](std::move_only_function<void()> task) { door->post(std::move(task)); },
          .walk = [&admin]() -> AuditedRoom::Step {
            return [&admin](Claims& out) {
              admin.read_book(out);
              return false;
            };
          }};
}

AuditedRoom audited_canary(CanaryProbing& canary) {
  return {.name = "canary",
          .post = [&canary](std::move_only_function<void()> task) { canary.post(std::move(task)); },
          .walk = [&canary]() -> AuditedRoom::Step {
            return [&canary](Claims& out) {
              canary.read_book(out);
              return false;
            };
          }};
}

// Those that belong to no event loop. A log on standard output is not the log's.
AuditedRoom audited_process(Reload& reload, const observe::AccessLog& access_log, observe::OpenDescriptors inherited) {
  auto list = [&reload, &access_log, inherited = std::move(inherited)](Claims& out) {
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
    add(ClaimKind::watch, reload.descriptors());
    return false;
  };
  return {.name = "process", .post = nullptr, .walk = [list]() -> AuditedRoom::Step { return list; }};
}

}  // namespace

AuditedRoom audited_worker(gate::Fleet& fleet, std::size_t worker) {
  return {.name = "worker " + std::to_string(worker),
          .post = [&fleet, worker](std::move_only_function<void()> task) { fleet.post(worker, std::move(task)); },
          .walk = [&fleet, worker]() -> AuditedRoom::Step {
            return [&fleet, worker, cursor = gate::BookCursor()](Claims& out) mutable {
              return fleet.worker(worker).read_book(cursor, out);
            };
          },
          .tell = [&fleet, worker](const Claim& claim) { return fleet.worker(worker).tell(claim); }};
}

std::vector<AuditedRoom> audited_rooms(gate::Fleet& fleet, admin::Server& admin, CanaryProbing& canary, Reload& reload,
                                       const observe::AccessLog& access_log, observe::OpenDescriptors inherited) {
  std::vector<AuditedRoom> rooms;
  for (std::size_t worker = 0; worker < fleet.size(); ++worker) rooms.push_back(audited_worker(fleet, worker));
  rooms.push_back(audited_admin(admin));
  rooms.push_back(audited_canary(canary));
  rooms.push_back(audited_process(reload, access_log, std::move(inherited)));
  return rooms;
}

}  // namespace ebb::app
