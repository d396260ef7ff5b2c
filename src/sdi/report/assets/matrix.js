// Heat maps: tables whose cells are coloured, which arrow keys walk through.

function heat({ hue, rows, columns, corner, head, side, cell, tell }) {
  const size = columns.length > 20 ? "many" : columns.length > 12 ? "some" : columns.length > 8 ? "few" : "";
  const cells = [];
  const body = rows.map((row) => el("tr", null, el("th", { scope: "row", title: side(row).title }, side(row).content),
    columns.map((column) => {
      const { p, framed, self, words } = cell(row, column);
      if (self) return el("td", { class: "self" });
      const td = el("td", { class: [p > 0.72 ? "strong" : p < 0.05 ? "nil" : "", framed ? "framed" : ""].join(" "),
        "--p": p.toFixed(3), tabindex: "-1", "aria-label": words }, two(p).replace(/^0/, "").replace(/^\.00$/, "·"));
      td.told = () => tell(row, column);
      cells.push(td);
      return td;
    })));
  const grid = el("table", { class: `heat ${hue} ${size}`, "--columns": columns.length + 6 },
    el("thead", null, el("tr", null, el("th", { class: "corner" }, corner),
      columns.map((column) => el("th", { scope: "col", title: head(column) }, el("span", null, name(head(column))))))),
    el("tbody", null, body));
  for (const event of ["pointerover", "focusin", "click"])
    grid.addEventListener(event, (e) => e.target.closest("td")?.told?.());
  return { grid, cells };
}

function beliefMatrix(order) {
  const readout = byId("belief-readout");
  const { grid, cells } = heat({
    hue: "blue", rows: order, columns: order, corner: ["effect ↓", el("br"), "cause →"],
    head: (v) => data.names[v], side: (v) => ({ title: data.names[v], content: name(data.names[v]) }),
    cell: (effect, cause) => ({ p: belief(cause, effect), self: cause === effect, framed: kindOf(cause, effect) === "kept",
                                words: `${edgeWords(cause, effect)}, ${two(belief(cause, effect))}` }),
    tell: (effect, cause) => readout.replaceChildren(...arrow(cause, effect), "  ", el("strong", null, two(belief(cause, effect))),
      data.shares ? `, in ${refits(cause, effect)} refits` : "",
      `; the other way round ${two(belief(effect, cause))}`),
  });
  byId("belief-matrix").replaceChildren(grid);
  walk(grid, () => cells, () => order.length - 1);
}

function startBeliefs() {
  byId("pair").classList.toggle("stacked", data.names.length > 12);
  if (data.names.length > data.most_cells) {
    byId("beliefs").querySelector(".tools").hidden = true;
    byId("belief-matrix").replaceChildren(el("p", null,
      `A matrix of ${data.names.length} variables does not fit a page: see beliefs.png, and edges.csv for the numbers.`));
    return;
  }
  const buttons = { "order-causal": data.order, "order-given": data.names.map((_, v) => v) };
  for (const [id, order] of Object.entries(buttons)) {
    byId(id).addEventListener("click", () => {
      for (const each of Object.keys(buttons)) byId(each).setAttribute("aria-pressed", String(each === id));
      beliefMatrix(order);
    });
  }
  beliefMatrix(data.order);
}

function startTargets() {
  if (!data.environments.length || !data.targets.length) return;
  byId("targets").hidden = false;
  byId("targets-hint").textContent = data.targets_hint;
  const readout = byId("target-readout");
  const rows = data.environments.map((_, e) => e).slice(0, data.most_environments);
  const columns = data.order.length > data.most_cells ? data.order.filter((v) => data.touched[v].length) : data.order;
  const declared = (e, v) => data.environments[e].declared?.includes(v);
  const words = (e, v) => `${apart(data.names[v])} in ${apart(data.environments[e].name)}, ${two(data.targets[e][v])}`
    + (declared(e, v) ? ", declared" : "");
  const { grid, cells } = heat({
    hue: "amber", rows, columns, corner: "",
    head: (v) => data.names[v],
    side: (e) => ({ title: data.environments[e].name, content: [name(data.environments[e].name),
      data.environments[e].rows === null ? "" : el("small", null, plural(data.environments[e].rows, "row"))] }),
    cell: (e, v) => ({ p: data.targets[e][v], framed: declared(e, v), words: words(e, v) }),
    tell: (e, v) => readout.replaceChildren(variable(v), " touched in ", name(data.environments[e].name), "  ",
      el("strong", null, two(data.targets[e][v])), declared(e, v) ? ", as was declared" : ""),
  });
  byId("target-matrix").replaceChildren(grid);
  if (rows.length < data.environments.length)
    byId("target-matrix").append(el("p", { class: "hint" }, `and ${data.environments.length - rows.length} more, in environments.csv`));
  walk(grid, () => cells, () => columns.length);
}
