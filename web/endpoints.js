// Endpoints, those that are not well first.
import { element, quiet, show, table, time } from "./elements.js";

const most = 200;
let known = [];

document.getElementById("filter").addEventListener("input", () => showEndpoints(known));

// The first of these that is not as it should be says how the endpoint stands.
function standing(endpoint) {
  if (endpoint.membership !== "present") return { words: endpoint.membership, class: "unsure", rank: 1 };
  if (endpoint.health === "down" || endpoint.health === "suspect") return { words: `${endpoint.health}: ${endpoint.cause}`, class: "bad", rank: 0 };
  if (endpoint.wish !== "ready") return { words: endpoint.wish, class: "unsure", rank: 1 };
  if (endpoint.health !== "up") return { words: endpoint.health, class: "unsure", rank: 1 };
  return { words: "ready", class: "good", rank: 2 };
}

const columns = [
  { title: "backend", cell: (row) => row.backend },
  { title: "endpoint", cell: (row) => row.name },
  { title: "address", cell: (row) => row.address },
  { title: "state", cell: (row) => element("span", { class: row.stands.class }, row.stands.words) },
  { title: "since", cell: (row) => time(row.since) },
  { title: "in flight", number: true, cell: (row) => row.in_flight.total },
  { title: "connections", number: true, cell: (row) => row.connections },
  { title: "idle", number: true, cell: (row) => row.idle },
  { title: "requests", number: true, cell: (row) => row.counters.requests },
  { title: "failures", number: true, cell: (row) => row.counters.failures },
  { title: "retries", number: true, cell: (row) => row.counters.retries },
];

export function showEndpoints(endpoints) {
  known = endpoints;
  const wanted = document.getElementById("filter").value.trim().toLowerCase();
  const rows = endpoints
    .map((endpoint) => ({ ...endpoint, stands: standing(endpoint) }))
    .filter((row) => [row.backend, row.name, row.address, row.stands.words].some((text) => text.toLowerCase().includes(wanted)))
    .sort((a, b) => a.stands.rank - b.stands.rank || a.backend.localeCompare(b.backend) || a.name.localeCompare(b.name));
  if (rows.length === 0) return show("endpoints", quiet(wanted ? "None." : "No backend has an endpoint."));
  const more = rows.length > most ? [quiet(`${rows.length - most} more; narrow them down above, or ask /api/v1/endpoints.`)] : [];
  show("endpoints", table(columns, rows.slice(0, most)), ...more);
}
