// The tables are checked when they are compiled: this file makes sure that they always are.
#include "lifecycle/active_check.h"
#include "lifecycle/backend_connection.h"
#include "lifecycle/client_connection.h"
#include "lifecycle/endpoint.h"
#include "lifecycle/exchange.h"
#include "lifecycle/flow.h"
#include "lifecycle/retry.h"
