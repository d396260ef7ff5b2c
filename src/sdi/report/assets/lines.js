// Small line charts: every belief over the iterations, and what else was recorded.

function niceTicks(low, high, about) {
  const step0 = (high - low) / about || 1, power = 10 ** Math.floor(Math.log10(step0));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= step0);
  const ticks = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step / 1e6; t += step) ticks.push(Number(t.toPrecision(12)));
  return ticks;
}

function chart(width, height, xs, low, high, ticks) {
  const left = 38, right = 8, top = 8, bottom = 26;
  const x = (value) => left + ((value - xs[0]) / (xs[xs.length - 1] - xs[0] || 1)) * (width - left - right);
  const y = (value) => top + (1 - (value - low) / (high - low || 1)) * (height - top - bottom);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img" });
  for (const tick of ticks)
    root.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
      svg("text", { x: left - 7, y: y(tick) + 4, "text-anchor": "end" }, Number(tick.toPrecision(6)).toLocaleString("en")));
  for (const tick of niceTicks(xs[0], xs[xs.length - 1], width / 90).filter(Number.isInteger))
    root.append(svg("text", { x: x(tick), y: height - 7, "text-anchor": "middle" }, tick));
  const line = (values) => values.map((v, k) => (v === null ? "" : `${k && values[k - 1] !== null ? "L" : "M"}${x(xs[k]).toFixed(1)} ${y(v).toFixed(1)}`)).join("");
  return { root, y, line, left, right: width - right };
}

function beliefChart(width) {
  const { iterations, lines } = data.history;
  const { root, y, line, left, right } = chart(width, Math.max(240, Math.min(380, width * 0.5)), iterations, 0, 1, [0, 0.25, 0.5, 0.75, 1]);
  root.setAttribute("aria-label", `Probabilities of ${lines.length} edges over ${iterations.length} records`);
  root.append(svg("line", { class: "axis half", x1: left, x2: right, y1: y(0.5), y2: y(0.5) }));
  for (const { cause, effect, values } of [...lines].reverse()) {
    const kind = kindOf(cause, effect), d = line(values);
    const group = svg("g", { class: "trace-group" }, svg("path", { class: `trace ${kind}`, d }), svg("path", { class: "trace-hit", d }));
    const tell = () => byId("line-readout").replaceChildren(...arrow(cause, effect), "  ", el("strong", null, two(belief(cause, effect))),
      kind === "kept" ? ", in the graph" : ", not in the graph");
    group.addEventListener("pointerenter", tell);
    group.addEventListener("click", tell);
    root.append(group);
  }
  return root;
}

function smallChart(values, width, label) {
  const known = values.filter((v) => v !== null);
  let low = Math.min(...known), high = Math.max(...known);
  if (low >= 0 && low < 0.5 * high) low = 0;
  if (low === high) high = low + 1;
  const { root, line } = chart(width, 150, data.history.iterations, low, high, niceTicks(low, high, 3));
  root.setAttribute("aria-label", `${label}, from ${known[0]} to ${known[known.length - 1]}`);
  root.append(svg("path", { class: "trace one", d: line(values) }));
  return root;
}

function startForming() {
  const history = data.history;
  if (!history || history.iterations.length < 2) return;
  byId("forming").hidden = false;
  byId("forming-hint").textContent = history.hint;
  const box = byId("charts");
  const draw = () => {
    const beside = box.clientWidth > 760 && history.others.length;
    const gap = 20, wide = beside ? (box.clientWidth - gap) * 0.6875 : box.clientWidth;
    const small = beside ? box.clientWidth - gap - wide : box.clientWidth;
    box.replaceChildren(
      history.lines.length ? el("figure", null, el("figcaption", null, "Probability of each edge, by iteration"), beliefChart(wide)) : "",
      history.others.length ? el("div", { class: "column" }, history.others.map(({ label, values }) =>
        el("figure", null, el("figcaption", null, label), smallChart(values, small, label)))) : "");
  };
  let last = 0;
  new ResizeObserver(() => { if (box.clientWidth !== last) { last = box.clientWidth; draw(); } }).observe(box);
}
