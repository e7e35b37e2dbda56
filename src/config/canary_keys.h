// The keys of the canary.
#pragma once

#include "config/keys.h"
#include "routes/canary_model.h"
#include "routes/model.h"

namespace ebb::config {

inline constexpr Key<routes::CanaryReplicaModel> canary_replica_keys[] = {
    {"name", text<&routes::CanaryReplicaModel::name>, "unique; for the API and metrics", Need::required},
    {"host", text<&routes::CanaryReplicaModel::host>,
     "address or name of the replica, without port: a replica has the same listeners", Need::required},
};

inline constexpr Key<routes::CanaryModel> canary_keys[] = {
    {"backends", texts<&routes::CanaryModel::backends>,
     "backends whose endpoints run `ebbgate canary serve`; the canary probes every route to them, in every protocol",
     Need::required},
    {"ports", values<CountFormat, &routes::CanaryModel::ports>,
     "the two ports of the endpoints; after 5 good rounds the canary moves them to the other port, to prove that the "
     "router takes changes"},
    {"every", duration<&routes::CanaryModel::every>, "interval between probes of a leg, `500ms` to `1h`"},
    {"budget", duration<&routes::CanaryModel::budget>, "limit of one probe, at most `every`; a longer one has failed"},
    {"pods", texts<&routes::CanaryModel::pods>,
     "names (`POD_NAME`) of the servers that may answer; `canary-*`: all names with this prefix; default: all servers"},
    {"replicas", list<&routes::CanaryModel::replicas, canary_replica_keys>,
     "other replicas to probe; this one is called `self`"},
    {"settle", duration<&routes::CanaryModel::settle>,
     "how long a replica may run another configuration than this one, `1s` to `1h`: the time in which a change "
     "reaches all replicas"},
    {"ca", file<&routes::CanaryModel::ca>,
     "PEM: authorities of the listeners' certificates; default: those of this machine"},
    {"verify", flag<&routes::CanaryModel::verify>, "`false`: the canary reports certificates, but accepts bad ones"},
};

}  // namespace ebb::config
