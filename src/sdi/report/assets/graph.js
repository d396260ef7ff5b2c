// The graph: drawn once for each kind of sheet, then shown, hidden and pointed at.

const kept = new Set(data.edges.map(([cause, effect]) => `${cause},${effect}`));
const removed = new Set(data.removed.map(([cause, effect]) => `${cause},${effect}`));
const kindOf = (cause, effect) =>
  kept.has(`${cause},${effect}`) ? "kept" : removed.has(`${cause},${effect}`) ? "removed" : "weak";
const KINDS = ["kept", "weak", "removed"];
const BOLT = "M5.2 0 L0.6 6.4 H3.7 L2.6 11 L7.6 4.4 H4.4 Z";
const graph = { threshold: data.threshold, zoom: 1, drawing: null, root: null, nodes: [], edges: [] };

function thickness(p) { return 0.8 + 2.6 * p * p; }

function pathOf(points) {
  let path = `M${points[0]} ${points[1]}`;
  for (let k = 2; k < points.length; k += 6) path += `C${points.slice(k, k + 6).join(" ")}`;
  return path;
}

function drawNode(v, drawing) {
  const [x, y, width, height] = drawing.boxes[v];
  const mark = drawing.marks[v];
  const line = mark ? -8 : 0;
  const group = svg("g", { class: "node", tabindex: "-1", role: "img", "data-node": v, "aria-label": nodeWords(v),
                           transform: `translate(${x} ${y})` },
    svg("rect", { x: -width / 2, y: -height / 2, width, height, rx: 9 }),
    svg("text", { y: line }, drawing.labels[v]));
  if (mark) {
    group.classList.add("touched");
    group.append(svg("g", { class: "marked" }, svg("path", { class: "bolt", d: BOLT }),
      svg("text", { class: "mark", y: 12 }, mark)));
  }
  return group;
}

function nodeWords(v) {
  const causes = data.edges.filter((edge) => edge[1] === v).map((edge) => data.names[edge[0]]);
  const touched = data.touched[v];
  return apart(data.names[v]) + (causes.length ? `, caused by ${causes.map(apart).join(", ")}` : ", without a known cause")
    + (touched.length ? `, touched in ${touched.map((e) => apart(data.environments[e].name)).join(", ")}` : "");
}

function drawEdge([cause, effect, points, x, y]) {
  const p = belief(cause, effect), kind = kindOf(cause, effect), d = pathOf(points);
  return svg("g", { class: `edge ${kind}`, tabindex: "-1", role: "img", "data-cause": cause, "data-effect": effect,
                    "aria-label": `${edgeWords(cause, effect)}, ${two(p)}` },
    svg("path", { class: "hit", d }),
    svg("path", { class: "line", d, "stroke-width": thickness(p).toFixed(2), "marker-end": `url(#head-${kind})`,
                  opacity: (0.45 + 0.55 * p).toFixed(2) }),
    svg("text", { class: "value", x, y }, two(p)));
}

function drawGraph(drawing) {
  const heads = KINDS.map((kind) => svg("marker", { id: `head-${kind}`, viewBox: "0 0 10 10", refX: 8.5, refY: 5,
    markerWidth: 10, markerHeight: 10, markerUnits: "userSpaceOnUse", orient: "auto" },
    svg("path", { class: `head ${kind}`, d: "M0 1 L10 5 L0 9 L2.5 5 Z" })));
  graph.edges = drawing.edges.map(drawEdge);
  graph.nodes = drawing.boxes.map((_, v) => drawNode(v, drawing));
  graph.root = svg("svg", { viewBox: `0 0 ${drawing.width} ${drawing.height}`, role: "group",
    "aria-label": `Causal graph of ${plural(data.names.length, "variable")}` },
    svg("defs", null, heads), [...graph.edges].reverse(), graph.nodes);
  graph.drawing = drawing;
  byId("sheet").replaceChildren(graph.root);
  graph.nodes.forEach((node, v) => settleMark(node, drawing.boxes[v][2]));
  listen(graph.root);
  walk(graph.root, () => [...data.order.map((v) => graph.nodes[v]), ...graph.edges.filter((e) => !e.hasAttribute("hidden"))]);
  show();
}

/** The bolt stands to the left of its words, and no words are wider than their box: fonts differ. */
function settleMark(node, width) {
  for (const text of node.querySelectorAll("text")) {
    const room = width - (text.classList.contains("mark") ? 26 : 12);
    if (text.getComputedTextLength() > room) {
      text.setAttribute("textLength", room);
      text.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
  }
  const mark = node.querySelector(".mark");
  if (!mark) return;
  const length = Math.min(mark.getComputedTextLength(), width - 26);
  mark.setAttribute("x", 6);
  node.querySelector(".bolt").setAttribute("transform", `translate(${-length / 2 - 7} 6.5)`);
}

function show() {
  const shown = [];
  for (const edge of graph.edges) {
    const cause = +edge.dataset.cause, effect = +edge.dataset.effect;
    // the graph as it was found holds at its own threshold whatever the rounding of its numbers
    const found = !edge.classList.contains("weak") && graph.threshold <= data.threshold;
    const visible = found || belief(cause, effect) > graph.threshold;
    edge.toggleAttribute("hidden", !visible);
    if (visible) shown.push([cause, effect]);
  }
  const joined = new Set(shown.flat());
  graph.nodes.forEach((node, v) => node.classList.toggle("alone", !joined.has(v)));
  byId("threshold-value").textContent = two(graph.threshold);
  byId("threshold").setAttribute("aria-valuetext", `${two(graph.threshold)}, ${plural(shown.length, "edge")}`);
  byId("edge-count").textContent = `${plural(shown.length, "edge")} above ${two(graph.threshold)}`;
  shown.sort((a, b) => belief(...b) - belief(...a));
  byId("edge-list").replaceChildren(...shown.map(edgeRow));
}

function edgeRow([cause, effect]) {
  const p = belief(cause, effect), kind = kindOf(cause, effect);
  const button = el("button", { type: "button", class: kind },
    el("span", null, arrow(cause, effect)),
    el("span", { class: "number" }, two(p), data.shares && el("span", { class: "also" }, `  ${refits(cause, effect)}`)),
    el("span", { class: "bar", "aria-hidden": "true" }, el("i", { "--p": p })));
  for (const event of ["pointerenter", "focus", "click"]) button.addEventListener(event, () => pointAtEdge(cause, effect));
  for (const event of ["pointerleave", "blur"]) button.addEventListener(event, letGo);
  return el("li", null, button);
}

// ------------------------------------------------------------------------------------------------ details

const edgeOf = (cause, effect) => graph.edges.find((e) => +e.dataset.cause === cause && +e.dataset.effect === effect);

function letGo() {
  graph.root.classList.remove("quiet");
  for (const item of graph.root.querySelectorAll(".on, .near")) item.classList.remove("on", "near");
}

function pointAtEdge(cause, effect) {
  letGo();
  graph.root.classList.add("quiet");
  edgeOf(cause, effect)?.classList.add("on");
  for (const v of [cause, effect]) graph.nodes[v].classList.add("on");
  const back = belief(effect, cause);
  byId("details").replaceChildren(
    el("h3", null, arrow(cause, effect)),
    el("p", null, "Probability ", el("strong", null, two(belief(cause, effect)))),
    el("p", null, "The other way round ", two(back)),
    data.shares && el("p", null, `In ${refits(cause, effect)} refits on resampled rows`) || "",
    { weak: el("p", null, "Not in the graph: no more probable than one half."),
      removed: el("p", null, "Not in the graph: it does not go together with the others, mostly because it would close a cycle."),
      kept: "" }[kindOf(cause, effect)]);
}

function pointAtNode(v) {
  letGo();
  graph.root.classList.add("quiet");
  graph.nodes[v].classList.add("on");
  const near = (list) => list.sort((a, b) => belief(...b) - belief(...a));
  const shown = graph.edges.filter((e) => !e.hasAttribute("hidden")).map((e) => [+e.dataset.cause, +e.dataset.effect]);
  const causes = near(shown.filter((e) => e[1] === v)), effects = near(shown.filter((e) => e[0] === v));
  for (const edge of [...causes, ...effects]) {
    edgeOf(...edge).classList.add("on");
    graph.nodes[edge[0] === v ? edge[1] : edge[0]].classList.add("near");
  }
  const lines = (title, rows) => rows.length ? [el("p", { class: "label" }, title),
    el("ul", null, rows.map(([what, p]) => el("li", null, what, el("span", null, two(p)))))] : [];
  byId("details").replaceChildren(...[
    el("h3", null, variable(v)),
    el("p", null, data.states.length ? listed(data.states[v].map(name)) : plural(data.cardinalities[v], "category").replace("ys", "ies")),
    ...lines("Caused by", causes.map((e) => [variable(e[0]), belief(...e)])),
    ...lines("Causes", effects.map((e) => [variable(e[1]), belief(...e)])),
    ...lines("Touched in", data.touched[v].map((e) => [name(data.environments[e].name), data.targets[e][v]])),
    causes.length + effects.length ? "" : el("p", null, "No edge above the threshold.")].flat());
}

function listen(root) {
  const act = (event) => {
    const item = event.target.closest(".node, .edge");
    if (!item) return event.type === "click" ? letGo() : undefined;
    if (item.dataset.node !== undefined) pointAtNode(+item.dataset.node);
    else pointAtEdge(+item.dataset.cause, +item.dataset.effect);
  };
  for (const event of ["pointerover", "focusin", "click"]) root.addEventListener(event, act);
  for (const event of ["pointerleave", "focusout"]) root.addEventListener(event, letGo);
  root.addEventListener("keydown", (event) => { if (event.key === "Escape") letGo(); });
}

// --------------------------------------------------------------------------------------------------- size

const LEAST = 0.72; // below this scale names cannot be read; the sheet scrolls instead

function resize() {
  const room = byId("sheet").offsetWidth - 36; // with room for a scroll bar, so that it does not come and go
  const { wide, narrow } = data.drawings;
  const wanted = room < 0.8 * wide.width && narrow.width < wide.width ? narrow : wide;
  if (graph.drawing !== wanted) drawGraph(wanted);
  const fitting = Math.min(1.2, room / wanted.width);
  const factor = graph.zoom === 0 ? fitting : Math.max(LEAST, fitting) * graph.zoom;
  graph.root.setAttribute("width", Math.round(wanted.width * factor));
  graph.root.setAttribute("height", Math.round(wanted.height * factor));
}

function zoom(change) {
  graph.zoom = change === 0 ? 0 : Math.min(4, Math.max(0.3, (graph.zoom || 1) * change));
  resize();
}

function startGraph() {
  resize();
  const labels = byId("labels");
  const setLabels = () => byId("sheet").classList.toggle("unlabelled", !labels.checked);
  labels.checked = data.edges.length <= 40;
  labels.addEventListener("change", setLabels);
  setLabels();
  byId("threshold").value = graph.threshold;
  byId("threshold").addEventListener("input", (event) => {
    graph.threshold = Number(event.target.value);
    letGo();
    show();
  });
  byId("smaller").addEventListener("click", () => zoom(1 / 1.25));
  byId("larger").addEventListener("click", () => zoom(1.25));
  byId("fit").addEventListener("click", () => zoom(0));
  new ResizeObserver(resize).observe(byId("sheet"));
  byId("details").replaceChildren(el("p", { class: "hint" }, "Nothing chosen. Details of a variable or an edge appear here."));
  const sample = (kind) => svg("svg", { width: 44, height: 12, "aria-hidden": "true" }, svg("g", { class: `edge ${kind}` },
    svg("path", { class: "line", d: "M0 6 H38", "stroke-width": 2.2, "marker-end": `url(#head-${kind})` })));
  const keys = [[sample("kept"), "in the graph; the thicker, the more probable"], [sample("weak"), "not in the graph, one half or less"]];
  if (data.removed.length) keys.push([sample("removed"), "probable, but not together with the others"]);
  if (data.touched.some((list) => list.length))
    keys.push([svg("svg", { width: 9, height: 12, "aria-hidden": "true" }, svg("g", { class: "node" }, svg("path", { class: "bolt", d: BOLT }))),
      "touched in the environments named"]);
  byId("key").replaceChildren(...keys.map(([picture, words]) => el("li", null, picture, words)));
}
