// Everything that is shown is made here, as text: nothing that an endpoint or a client says can become markup.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (attribute.startsWith("on")) made.addEventListener(attribute.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(attribute, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// In place of what was there; what had the focus and is there again has it still.
export function show(id, ...children) {
  const place = document.getElementById(id);
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  place.replaceChildren(...children);
  if (focused !== undefined) place.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

export function quiet(words) {
  return element("p", { class: "quiet" }, words);
}

export function table(columns, rows) {
  const head = columns.map((column) => element("th", { scope: "col", class: column.number ? "number" : null }, column.title));
  const body = rows.map((row) => {
    const cells = columns.map((column) => element("td", { class: column.number ? "number" : null }, column.cell(row)));
    return element("tr", {}, ...cells);
  });
  const whole = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
  return element("div", { class: "wide" }, whole);
}

export function time(text) {
  return text ? element("time", { datetime: text, title: text }, ago(text)) : "";
}

function ago(text) {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(text)) / 1000));
  if (seconds < 120) return `${seconds} s ago`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min ago`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h ago` : `${Math.round(seconds / 86400)} days ago`;
}

export function milliseconds(microseconds) {
  return `${(microseconds / 1000).toFixed(microseconds < 10000 ? 1 : 0)} ms`;
}
