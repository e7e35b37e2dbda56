// Asks again every two seconds while somebody looks, and says since when what is shown is old.
import { keepToken, NeedsToken, read, readiness } from "./api.js";
import { element, quiet, show, table, time } from "./elements.js";
import { showEndpoints } from "./endpoints.js";
import { showPaths } from "./paths.js";

const interval = 2000;
const signIn = document.getElementById("sign-in");
let last = null;

const drainColumns = [
  { title: "drain", cell: (row) => row.id },
  { title: "endpoint", cell: (row) => row.endpoints.map((one) => `${one.backend}/${one.name}`).join(", ") },
  { title: "state", cell: (row) => element("span", { class: row.state === "drained" ? "good" : "unsure" }, row.state) },
  { title: "since", cell: (row) => time(row.asked_at) },
  { title: "in flight", number: true, cell: (row) => row.endpoints.reduce((sum, one) => sum + one.in_flight.total, 0) },
];

function showState(ready, config) {
  const parts = [element("span", { class: ready.startsWith("ready") ? "good" : "bad" }, ready), ", taken ", time(config.applied_at)];
  const refused = config.last_refusal;
  if (refused && refused.at > config.applied_at) parts.push(element("strong", { class: "bad" }, ` The last change was refused: ${refused.reason}`));
  show("state", ...parts);
}

function showDrains({ drains }) {
  show("drains", drains.length ? table(drainColumns, drains) : quiet("None is remembered."));
}

function showAudit(audit) {
  const differences = audit.differences_total;
  const look = audit.runs === 0 ? "unsure" : differences ? "bad" : "good";
  const words = audit.runs === 0 ? "Not made yet." : `${audit.open} descriptors are open, ${differences} that the router and the kernel disagree about. `;
  show("audit", element("p", { class: look }, words, time(audit.last_at)));
}

async function refresh() {
  const [ready, config, canary, endpoints, drains, audit] = await Promise.all([
    readiness(), ...["config", "canary", "endpoints", "drains", "audit"].map((name) => read(`/api/v1/${name}`)),
  ]);
  showState(ready, config);
  showPaths(canary);
  showEndpoints(endpoints.endpoints);
  showDrains(drains);
  showAudit(audit);
  last = new Date();
  show("as-of", last.toLocaleTimeString());
}

function tell(problem) {
  signIn.hidden = !(problem instanceof NeedsToken);
  const old = last ? `; what is shown is from ${last.toLocaleTimeString()}` : "";
  show("state", element("span", { class: "bad" }, `${problem.message}${old}`));
}

async function watch() {
  try {
    if (!document.hidden) await refresh();
  } catch (problem) {
    tell(problem);
  }
  setTimeout(watch, interval);
}

signIn.addEventListener("submit", (event) => {
  event.preventDefault();
  keepToken(document.getElementById("token").value);
  signIn.hidden = true;
  refresh().catch(tell);
});
watch();
