// The canary as a matrix: a row for each replica, a column for each leg. A cell opens what is known of it.
import { element, milliseconds, quiet, show, time } from "./elements.js";

const looks = {
  True: { class: "good", mark: "✓" },
  False: { class: "bad", mark: "✕" },
  Unknown: { class: "unsure", mark: "?" },
};
let chosen = null;

export function showPaths(canary) {
  if (!canary.configured) {
    show("paths", quiet("The canary is not configured: nothing walks the ways through this router all the time."));
    show("leg");
    return;
  }
  show("paths", summary(canary), element("div", { class: "wide" }, matrix(canary)));
  const leg = canary.legs.find((one) => one.name === chosen);
  show("leg", ...(leg ? [details(leg)] : []));
}

function summary(canary) {
  const { status, message, since } = canary.condition;
  const words = message || (status === "True" ? "Every path is good." : "");
  return element("p", { class: looks[status].class }, `${words} `, since ? element("small", {}, time(since)) : "");
}

// In the order of the router, each once; legs of one kind stand together.
function distinct(values) {
  return [...new Set(values)];
}

function matrix(canary) {
  const kinds = distinct(canary.legs.map((leg) => leg.kind));
  const columns = kinds.flatMap((kind) =>
    distinct(canary.legs.filter((leg) => leg.kind === kind).map((leg) => leg.protocol)).map((protocol) => ({ kind, protocol })));
  const heads = kinds.map((kind) =>
    element("th", { scope: "colgroup", colspan: columns.filter((column) => column.kind === kind).length }, kind));
  const names = columns.map((column) => element("th", { scope: "col" }, column.protocol.replace("_", " ")));
  const rows = distinct(canary.legs.map((leg) => leg.replica)).map((replica) => {
    const cells = columns.map(({ kind, protocol }) => {
      const leg = canary.legs.find((one) => one.replica === replica && one.kind === kind && one.protocol === protocol);
      return element("td", {}, leg ? cell(leg, canary) : "");
    });
    return element("tr", {}, element("th", { scope: "row" }, replica), ...cells);
  });
  const head = element("thead", {},
    element("tr", {}, element("th", { scope: "col", rowspan: 2 }, "replica"), ...heads), element("tr", {}, ...names));
  return element("table", { class: "matrix" }, head, element("tbody", {}, ...rows));
}

function cell(leg, canary) {
  const look = looks[leg.condition.status];
  const failing = leg.condition.status === "False" && leg.cause;
  const below = failing ? leg.cause.fault : leg.last ? milliseconds(leg.last.phases_us.total ?? 0) : "";
  const choose = () => {
    chosen = chosen === leg.name ? null : leg.name;
    showPaths(canary);
  };
  return element("button", {
    type: "button", class: look.class, "data-key": leg.name, "data-status": leg.condition.status, "aria-pressed": chosen === leg.name,
    "aria-label": `${leg.name}: ${leg.condition.status}`, title: leg.condition.message || leg.condition.reason, onclick: choose,
  }, look.mark, element("small", {}, below));
}

function details(leg) {
  const { last, cause } = leg;
  const list = element("dl");
  const say = (name, ...what) => list.append(element("dt", {}, name), element("dd", {}, ...what));
  say("way", `${leg.address}, ${leg.host}${leg.path}`);
  say("state", element("span", { class: looks[leg.condition.status].class }, leg.condition.reason), " ", time(leg.condition.since));
  say("lately", `${leg.bad_lately} bad of ${leg.seen_lately}; ${leg.probes} probes in all`);
  if (cause) {
    say("cause", `${cause.fault}: ${cause.meaning}, ${cause.count} times, last `, time(cause.last));
    say("what to do", cause.remedy);
  }
  for (const error of leg.errors) say("error", `${error.fault}${error.detail ? `: ${error.detail}` : ""}, ${error.count} times, last `, time(error.last));
  if (last) {
    say("last probe", time(last.at), ` ${last.status || ""} ${last.fault === "none" ? "" : last.fault} ${last.detail}`);
    say("phases", phases(last.phases_us));
    if (last.pod || last.port) say("answered by", [last.pod, last.node, last.port && `port ${last.port}`].filter(Boolean).join(", "));
    if (last.certificate) say("certificate", last.certificate.subject, ", expires ", element("span", { class: last.certificate.expires_soon ? "unsure" : null }, last.certificate.expires));
  }
  return element("article", {}, element("h3", {}, leg.name), list);
}

function phases({ total, ...parts }) {
  const bars = Object.entries(parts).map(([name, took]) => {
    const bar = element("span", { title: `${name} ${milliseconds(took)}` });
    bar.style.flexGrow = took;
    return bar;
  });
  const words = [...Object.entries(parts), ["total", total ?? 0]].map(([name, took]) => `${name} ${milliseconds(took)}`).join(", ");
  return element("div", {}, element("div", { class: "phases" }, ...bars), words);
}
