"use strict";
// Text reaches the page as text nodes only: whatever a name holds, it is shown and never obeyed.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "class") element.setAttribute("class", value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  for (const child of children.flat(4)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const name = (text) => el("bdi", null, text);
const variable = (v) => name(data.names[v]);
const arrow = (cause, effect) => [variable(cause), el("span", { class: "arrow" }, "→"), variable(effect)];
const two = (p) => p.toFixed(2);
// In attributes there are no elements to keep directions apart, but there are characters for it.
const apart = (text) => "\u2068" + text + "\u2069";
const edgeWords = (cause, effect) => `${apart(data.names[cause])} causes ${apart(data.names[effect])}`;
const belief = (cause, effect) => data.beliefs[effect][cause];
const refits = (cause, effect) => data.shares && `${Math.round(data.shares[effect][cause] * data.refits)} of ${data.refits}`;
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

function listed(items) {
  return items.flatMap((item, k) => (k ? [k === items.length - 1 ? " and " : ", ", item] : [item]));
}

function table(header, rows, options = {}) {
  return el("table", { class: "plain" },
    el("thead", null, el("tr", null, header.map((cell, k) => el("th", { scope: "col", class: options.right?.[k] ? "right" : "" }, cell)))),
    el("tbody", null, rows.map((row, r) => el("tr", { class: options.best === r ? "best" : "" },
      row.map((cell, k) => el("td", { class: options.right?.[k] ? "right" : "" }, cell))))));
}

/** One stop for the tab key, arrows from there. */
function walk(container, items, columns = () => 1) {
  let current = null;
  const enter = (item) => {
    if (current) current.setAttribute("tabindex", "-1");
    current = item;
    current.setAttribute("tabindex", "0");
  };
  container.addEventListener("focusin", (event) => {
    const item = event.target.closest("[tabindex]");
    if (item && item !== container && items().includes(item)) enter(item);
  });
  container.addEventListener("keydown", (event) => {
    const all = items();
    const at = all.indexOf(document.activeElement);
    if (at < 0) return;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns(), ArrowUp: -columns() }[event.key];
    let next = step === undefined ? undefined : all[at + step];
    if (event.key === "Home") next = all[0];
    if (event.key === "End") next = all[all.length - 1];
    if (step === undefined && next === undefined) return;
    event.preventDefault();
    if (next) { enter(next); next.focus(); }
  });
  const first = items()[0];
  if (first) enter(first);
}
