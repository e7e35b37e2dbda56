// The keys of the canary.
#pragma once

#include "config/keys.h"
#include "routes/canary_model.h"
#include "routes/model.h"

namespace ebb::config {

inline constexpr Key<routes::CanaryReplicaModel> canary_replica_keys[] = {
    {"name", text<&routes::CanaryReplicaModel::name>, "unique; for the API and metrics", Need::required},
    {"host", text<&routes::CanaryReplicaModel::host>, "its address or name, without port: it has the same listeners",
     Need::required},
};

inline constexpr Key<routes::CanaryModel> canary_keys[] = {
    {"backends", texts<&routes::CanaryModel::backends>,
     "names of backends whose endpoints are `ebbgate canary serve`; every route to them is walked, by every protocol",
     Need::required},
    {"ports", values<CountFormat, &routes::CanaryModel::ports>,
     "the two ports of the endpoints; after 5 good rounds they move to the other one, which proves that the router "
     "takes "
     "changes"},
    {"every", duration<&routes::CanaryModel::every>, "from one probe of a leg to the next, `500ms` to `1h`"},
    {"budget", duration<&routes::CanaryModel::budget>, "of one probe; what takes longer has failed; at most `every`"},
    {"pods", texts<&routes::CanaryModel::pods>,
     "names (`POD_NAME`) of the servers that may answer; `canary-*` is every name that begins so; any if not given"},
    {"replicas", list<&routes::CanaryModel::replicas, canary_replica_keys>,
     "routers that are walked through besides this one, which is called `self`"},
    {"settle", duration<&routes::CanaryModel::settle>,
     "how long replicas may run a configuration that is not this one's, `1s` to `1h`; the time that a change needs to "
     "reach all of them"},
    {"ca", file<&routes::CanaryModel::ca>,
     "PEM: the authorities of the listeners' certificates; those that this machine trusts if not given"},
    {"verify", flag<&routes::CanaryModel::verify>, "`false`: certificates are looked at, but need not be good"},
};

}  // namespace ebb::config
