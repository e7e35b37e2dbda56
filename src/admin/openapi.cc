#include "admin/openapi.h"

namespace ebb::admin {

std::string_view openapi_document() {
  return R"json({
  "openapi": "3.1.0",
  "info": {
    "title": "Ebbgate admin API",
    "version": "1",
    "description": "Backends, endpoints, drains and connections of one router. On a loopback address without credentials; elsewhere with a bearer token or a client certificate."
  },
  "security": [{}, {"token": []}],
  "paths": {
    "/": {"get": {"summary": "The dashboard", "security": [{}], "responses": {"200": {"description": "HTML"}}}},
    "/web/{file}": {
      "parameters": [{"name": "file", "in": "path", "required": true, "schema": {"type": "string"}}],
      "get": {"summary": "What the dashboard is made of", "security": [{}], "responses": {"200": {"description": "A script or style sheet"}, "404": {"description": "There is no such file"}}}
    },
    "/healthz": {"get": {"summary": "Alive: every worker answers", "security": [{}], "responses": {"200": {"description": "ok"}, "503": {"description": "A worker did not answer in time"}}}},
    "/readyz": {"get": {"summary": "Ready for traffic", "security": [{}], "responses": {"200": {"description": "ready"}, "503": {"description": "not ready, and why"}}}},
    "/metrics": {"get": {"summary": "Prometheus or OpenMetrics, by Accept", "responses": {"200": {"description": "The exposition"}}}},
    "/api/v1/openapi.json": {"get": {"summary": "This document", "responses": {"200": {"description": "OpenAPI 3.1"}}}},
    "/api/v1/config": {
      "get": {
        "summary": "Which configuration is served, and why the last one was refused",
        "responses": {"200": {"description": "The generation", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Config"}}}}}
      }
    },
    "/api/v1/canary": {
      "get": {
        "summary": "The canary: whether each way through each replica is good, and what is wrong with those that are not",
        "responses": {"200": {"description": "The state of every leg", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Canary"}}}}}
      }
    },
    "/api/v1/audit": {
      "get": {
        "summary": "The self-audit: differences between the router's own book of descriptors and the kernel's",
        "responses": {"200": {"description": "The last complete run", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Audit"}}}}}
      }
    },
    "/api/v1/backends": {
      "get": {
        "summary": "All backends",
        "responses": {"200": {"description": "In the order of the configuration", "content": {"application/json": {"schema": {"type": "object", "properties": {"backends": {"type": "array", "items": {"$ref": "#/components/schemas/Backend"}}, "workers_silent": {"$ref": "#/components/schemas/WorkersSilent"}}}}}}}
      }
    },
    "/api/v1/backends/{backend}": {
      "parameters": [{"$ref": "#/components/parameters/backend"}],
      "get": {
        "summary": "One backend with its endpoints",
        "responses": {"200": {"description": "The backend", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Backend"}}}}, "404": {"$ref": "#/components/responses/Error"}}
      }
    },
    "/api/v1/backends/{backend}/endpoints": {
      "parameters": [{"$ref": "#/components/parameters/backend"}],
      "post": {
        "summary": "Add an endpoint; it stays until it is removed or its backend goes",
        "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewEndpoint"}}}},
        "responses": {"201": {"description": "The endpoint", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Endpoint"}}}}, "400": {"$ref": "#/components/responses/Error"}, "404": {"$ref": "#/components/responses/Error"}, "409": {"$ref": "#/components/responses/Error"}}
      }
    },
    "/api/v1/backends/{backend}/endpoints/{endpoint}": {
      "parameters": [{"$ref": "#/components/parameters/backend"}, {"$ref": "#/components/parameters/endpoint"}],
      "get": {
        "summary": "One endpoint",
        "responses": {"200": {"description": "The endpoint", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Endpoint"}}}}, "404": {"$ref": "#/components/responses/Error"}}
      },
      "patch": {
        "summary": "Change its wish, weight or address; what is not named stays. Kept until the configuration itself says something else about the endpoint",
        "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/EndpointChange"}}}},
        "responses": {"200": {"description": "The endpoint as it is now", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Endpoint"}}}}, "400": {"$ref": "#/components/responses/Error"}, "404": {"$ref": "#/components/responses/Error"}}
      },
      "delete": {
        "summary": "Remove it; only in maintenance and without work",
        "responses": {"204": {"description": "It is gone"}, "404": {"$ref": "#/components/responses/Error"}, "409": {"$ref": "#/components/responses/Error"}}
      }
    },
    "/api/v1/endpoints": {
      "get": {
        "summary": "All endpoints of all backends",
        "responses": {"200": {"description": "The endpoints", "content": {"application/json": {"schema": {"type": "object", "properties": {"endpoints": {"type": "array", "items": {"$ref": "#/components/schemas/Endpoint"}}, "workers_silent": {"$ref": "#/components/schemas/WorkersSilent"}}}}}}}
      }
    },
    "/api/v1/connections": {
      "get": {
        "summary": "Connections of clients; every condition that is given must hold",
        "parameters": [
          {"name": "backend", "in": "query", "schema": {"type": "string"}, "description": "has an exchange with it"},
          {"name": "endpoint", "in": "query", "schema": {"type": "string"}, "description": "name of an endpoint"},
          {"name": "client", "in": "query", "schema": {"type": "string"}, "description": "address without port"},
          {"name": "state", "in": "query", "schema": {"type": "string"}, "description": "such as idle, serving, tunnelling, multiplexing"},
          {"name": "idle_for", "in": "query", "schema": {"type": "string"}, "description": "idle at least so long, such as 30s"},
          {"name": "limit", "in": "query", "schema": {"type": "integer", "default": 1000, "maximum": 100000}}
        ],
        "responses": {"200": {"description": "The connections", "content": {"application/json": {"schema": {"type": "object", "properties": {"connections": {"type": "array", "items": {"$ref": "#/components/schemas/Connection"}}, "more": {"type": "boolean"}}}}}}, "400": {"$ref": "#/components/responses/Error"}}
      }
    },
    "/api/v1/connections/{id}": {
      "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
      "delete": {
        "summary": "Cut a connection; an answer that is under way is not ended cleanly",
        "responses": {"204": {"description": "It is cut"}, "404": {"$ref": "#/components/responses/Error"}}
      }
    },
    "/api/v1/drains": {
      "get": {
        "summary": "All drains that are remembered",
        "responses": {"200": {"description": "The drains", "content": {"application/json": {"schema": {"type": "object", "properties": {"drains": {"type": "array", "items": {"$ref": "#/components/schemas/Drain"}}}}}}}}
      },
      "post": {
        "summary": "Drain an endpoint, or join the drain of it that there is",
        "description": "On the self_drain listener an endpoint asks for itself: the body may be empty, and other endpoints are refused.",
        "parameters": [{"$ref": "#/components/parameters/wait"}],
        "requestBody": {"content": {"application/json": {"schema": {"type": "object", "properties": {"endpoint": {"type": "string", "description": "HOST:PORT or backend/name"}, "serve_if_last": {"type": "boolean", "default": true, "description": "it still gets requests while nothing else could serve them"}}}}}},
        "responses": {"201": {"description": "A new drain; Location names it", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Drain"}}}}, "200": {"description": "The drain that there was", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Drain"}}}}, "400": {"$ref": "#/components/responses/Error"}, "403": {"$ref": "#/components/responses/Error"}, "404": {"$ref": "#/components/responses/Error"}, "503": {"$ref": "#/components/responses/Error"}}
      }
    },
    "/api/v1/drains/{id}": {
      "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
      "get": {
        "summary": "The receipt: answers when the endpoint is drained on every worker, or at the end of the wait with what is still open",
        "parameters": [{"$ref": "#/components/parameters/wait"}],
        "responses": {"200": {"description": "The drain", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Drain"}}}}, "404": {"$ref": "#/components/responses/Error"}}
      },
      "delete": {
        "summary": "End the drain: the endpoint is ready again",
        "responses": {"200": {"description": "The drain", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Drain"}}}}, "404": {"$ref": "#/components/responses/Error"}}
      }
    }
  },
  "components": {
    "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    "parameters": {
      "backend": {"name": "backend", "in": "path", "required": true, "schema": {"type": "string"}},
      "endpoint": {"name": "endpoint", "in": "path", "required": true, "schema": {"type": "string"}, "description": "its name"},
      "wait": {"name": "wait", "in": "query", "schema": {"type": "string"}, "description": "how long to wait for the end, such as 30s; at most 60s"}
    },
    "responses": {
      "Error": {"description": "What is wrong, and what to do", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    },
    "schemas": {
      "Error": {"type": "object", "properties": {"error": {"type": "object", "properties": {"status": {"type": "integer"}, "reason": {"type": "string"}, "remedy": {"type": "string"}}}}},
      "Config": {"type": "object", "properties": {"generation": {"type": "integer"}, "digest": {"type": "string", "description": "equal in replicas whose files say the same"}, "applied_at": {"type": "string", "format": "date-time"}, "last_refusal": {"type": ["object", "null"], "properties": {"at": {"type": "string", "format": "date-time"}, "reason": {"type": "string"}}}}},
      "Audit": {
        "type": "object",
        "properties": {
          "every_ms": {"type": "integer", "description": "0: never"},
          "runs": {"type": "integer"}, "runs_incomplete": {"type": "integer", "description": "a thread did not answer in time"},
          "last_at": {"type": ["string", "null"], "format": "date-time"},
          "open": {"type": "integer", "description": "descriptors that the kernel has"},
          "held": {"type": "object", "description": "descriptors in the book, by kind", "additionalProperties": {"type": "integer"}},
          "differences_total": {"type": "integer"},
          "differences": {"type": "array", "description": "the first 100", "items": {"$ref": "#/components/schemas/Difference"}}
        }
      },
      "Difference": {
        "type": "object",
        "properties": {
          "difference": {"type": "string", "enum": ["unclaimed", "closed", "replaced", "shared", "disowned", "without_socket", "unburied"]},
          "meaning": {"type": "string"}, "found_at": {"type": "string", "format": "date-time"},
          "descriptor": {"type": "integer", "description": "-1: none"}, "inode": {"type": "integer", "description": "that the kernel has there; 0: none"},
          "object": {"type": "string"}, "local": {"type": "string"}, "remote": {"type": "string"}, "tcp_state": {"type": "string"},
          "held": {"type": ["object", "null"], "description": "who holds it or, if nobody does, who did in the run before", "properties": {"by": {"type": "string"}, "as": {"type": "string"}, "inode": {"type": "integer"}, "failure": {"type": ["string", "null"]}, "whose": {"type": "string"}, "peer": {"type": "string"}, "state": {"type": "string"}, "age_ms": {"type": "integer"}}}
        }
      },
      "Canary": {
        "type": "object",
        "properties": {
          "configured": {"type": "boolean", "description": "false: there is no canary, and nothing else in here means anything"},
          "condition": {"$ref": "#/components/schemas/Condition"},
          "wanted_port": {"type": ["integer", "null"], "description": "where its endpoints are now"},
          "port_moves": {"type": "integer"},
          "sockets": {"type": "integer", "description": "that the prober has open: never more than there are legs"},
          "connections_total": {"type": "integer", "description": "that it has opened"},
          "legs": {"type": "array", "items": {"$ref": "#/components/schemas/CanaryLeg"}}
        }
      },
      "Condition": {"type": "object", "properties": {"type": {"type": "string"}, "status": {"type": "string", "enum": ["True", "False", "Unknown"]}, "reason": {"type": "string"}, "message": {"type": "string"}, "since": {"type": ["string", "null"], "format": "date-time"}}},
      "CanaryFault": {"type": "object", "properties": {"fault": {"type": "string", "description": "see canary.md"}, "detail": {"type": "string"}, "count": {"type": "integer"}, "first": {"type": "string", "format": "date-time"}, "last": {"type": "string", "format": "date-time"}}},
      "CanaryLeg": {
        "type": "object",
        "properties": {
          "name": {"type": "string", "description": "replica/kind/protocol"}, "replica": {"type": "string"},
          "kind": {"type": "string", "enum": ["plain", "edge", "reencrypt", "passthrough"]},
          "protocol": {"type": "string", "enum": ["http1_fresh", "http1_reused", "h2", "websocket"]},
          "address": {"type": "string"}, "host": {"type": "string"}, "path": {"type": "string"},
          "condition": {"$ref": "#/components/schemas/Condition"},
          "probes": {"type": "integer"}, "bad_lately": {"type": "integer"}, "seen_lately": {"type": "integer"},
          "cause": {"type": ["object", "null"], "description": "what most of the last spell of failures was", "properties": {"fault": {"type": "string"}, "meaning": {"type": "string"}, "remedy": {"type": "string"}, "count": {"type": "integer"}, "first": {"type": "string", "format": "date-time"}, "last": {"type": "string", "format": "date-time"}}},
          "errors": {"type": "array", "description": "the last 3 distinct ones, the last one first", "items": {"$ref": "#/components/schemas/CanaryFault"}},
          "last": {"type": ["object", "null"], "description": "the last probe", "properties": {"at": {"type": "string", "format": "date-time"}, "fault": {"type": "string", "description": "none: it was good"}, "detail": {"type": "string"}, "peer": {"type": "string"}, "reused": {"type": "boolean"}, "tls": {"type": "string"}, "phases_us": {"type": "object", "description": "those that were needed and reached", "additionalProperties": {"type": "integer"}}, "status": {"type": "integer"}, "port": {"type": ["string", "null"]}, "pod": {"type": ["string", "null"]}, "node": {"type": ["string", "null"]}, "generation": {"type": ["string", "null"]}, "configuration": {"type": ["string", "null"], "description": "its digest"}, "certificate": {"type": ["object", "null"], "properties": {"subject": {"type": "string"}, "issuer": {"type": "string"}, "expires": {"type": "string", "format": "date-time"}, "expires_soon": {"type": "boolean"}, "verified": {"type": "boolean"}}}}}
        }
      },
      "InFlight": {"type": "object", "description": "Work by kind; nothing in flight on any worker means drained", "properties": {"connecting": {"type": "integer"}, "sent": {"type": "integer"}, "streaming": {"type": "integer"}, "tunnels": {"type": "integer"}, "total": {"type": "integer"}}},
      "Backend": {"type": "object", "properties": {"name": {"type": "string"}, "workers_silent": {"$ref": "#/components/schemas/WorkersSilent"}, "endpoints_total": {"type": "integer"}, "endpoints_ready": {"type": "integer"}, "queue": {"type": "object", "properties": {"waiting": {"type": "integer"}, "waited_total": {"type": "integer"}, "timeouts": {"type": "integer"}}}, "endpoints": {"type": "array", "items": {"$ref": "#/components/schemas/Endpoint"}}}},
      "NewEndpoint": {"type": "object", "required": ["name", "address"], "properties": {"name": {"type": "string"}, "address": {"type": "string"}, "weight": {"type": "integer", "minimum": 0, "maximum": 256}, "wish": {"$ref": "#/components/schemas/Wish"}}},
      "EndpointChange": {"type": "object", "properties": {"wish": {"$ref": "#/components/schemas/Wish"}, "weight": {"type": "integer", "minimum": 0, "maximum": 256}, "address": {"type": "string"}}},
      "Wish": {"type": "string", "enum": ["ready", "drain", "maint"]},
      "WorkersSilent": {"type": "integer", "description": "workers that did not answer within a second: what they do is in none of these numbers"},
      "Endpoint": {
        "type": "object",
        "properties": {
          "backend": {"type": "string"}, "name": {"type": "string"}, "address": {"type": "string"}, "weight": {"type": "integer"},
          "membership": {"type": "string", "enum": ["present", "leaving", "gone"]},
          "wish": {"$ref": "#/components/schemas/Wish"},
          "health": {"type": "string", "enum": ["up", "warming", "suspect", "down"]},
          "cause": {"type": ["string", "null"], "description": "why it is suspect or down"},
          "silence": {"type": "string", "enum": ["none", "doubted", "confirmed"], "description": "whether it answers requests: doubted, no new work but trials; confirmed by a trial, requests that can be repeated leave it"},
          "since": {"type": ["string", "null"], "format": "date-time", "description": "when one of the three last changed"},
          "check": {"$ref": "#/components/schemas/Check"},
          "in_flight": {"$ref": "#/components/schemas/InFlight"},
          "connections": {"type": "integer"}, "idle": {"type": "integer"},
          "workers_silent": {"$ref": "#/components/schemas/WorkersSilent"},
          "counters": {"type": "object", "properties": {"requests": {"type": "integer"}, "failures": {"type": "integer"}, "retries": {"type": "integer"}, "trials": {"type": "integer", "description": "requests that it was tried with while it was doubted"}, "trials_failed": {"type": "integer"}, "moved": {"type": "integer", "description": "requests that left it because it was silent"}, "connects": {"type": "integer"}, "connect_failures": {"type": "integer"}, "bytes_in": {"type": "integer"}, "bytes_out": {"type": "integer"}, "responses": {"type": "object", "additionalProperties": {"type": "integer"}}}}
        }
      },
      "Check": {
        "type": ["object", "null"],
        "description": "Its active checks; null where the backend has none",
        "properties": {
          "state": {"type": "string", "enum": ["good", "slipping", "bad", "mending"]},
          "outcome": {"type": "string", "enum": ["none", "not_asked", "connected", "secured", "answered", "not_connected", "connect_timeout", "not_secured", "secure_timeout", "bad_answer", "answer_timeout", "unwanted_status"]},
          "words": {"type": "string", "description": "the same for people"},
          "status": {"type": ["integer", "null"], "description": "of the last answer"},
          "at": {"type": ["string", "null"], "format": "date-time", "description": "when the last ended"},
          "taken_ms": {"type": "integer"}, "in_a_row": {"type": "integer", "description": "with the same result"},
          "passed": {"type": "integer"}, "failed": {"type": "integer"}
        }
      },
      "Connection": {
        "type": "object",
        "properties": {
          "id": {"type": "string"}, "client": {"type": "string"}, "listener": {"type": "string"}, "protocol": {"type": "string"}, "state": {"type": "string"},
          "age_ms": {"type": "integer"}, "in_state_ms": {"type": "integer"},
          "exchanges": {"type": "array", "items": {"type": "object", "properties": {"state": {"type": "string"}, "route": {"type": "string"}, "backend": {"type": "string"}, "endpoint": {"type": "string"}, "address": {"type": "string"}, "age_ms": {"type": "integer"}, "request_bytes": {"type": "integer"}, "response_bytes": {"type": "integer"}}}}
        }
      },
      "Drain": {
        "type": "object",
        "properties": {
          "id": {"type": "string"},
          "state": {"type": "string", "enum": ["draining", "drained", "ended"]},
          "drained": {"type": "boolean"},
          "asked_at": {"type": "string", "format": "date-time"},
          "drained_at": {"type": ["string", "null"], "format": "date-time"},
          "endpoints": {"type": "array", "items": {"type": "object", "properties": {"backend": {"type": "string"}, "name": {"type": "string"}, "address": {"type": "string"}, "in_flight": {"$ref": "#/components/schemas/InFlight"}, "cut": {"type": "integer"}}}},
          "cut": {"type": "integer", "description": "requests and tunnels that were ended before their time while the endpoints drained: by drain.deadline, or by an operator"},
          "workers_silent": {"$ref": "#/components/schemas/WorkersSilent"}
        }
      }
    }
  }
}
)json";
}

}  // namespace ebb::admin
