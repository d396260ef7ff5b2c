// The words around the pictures.

const edgeItem = ([cause, effect]) => el("li", null, name(cause), el("span", { class: "arrow" }, "→"), name(effect));

function startWords() {
  byId("title").append(name(data.title));
  byId("lead").textContent = data.lead;
  byId("facts").replaceChildren(...data.facts.map(([label, value]) => el("div", null, el("dt", null, label), el("dd", null, value))));
  byId("warnings").hidden = !data.warnings.length;
  byId("warning-list").replaceChildren(...data.warnings.map((text) => el("li", null, name(text))));
  byId("meaning-text").replaceChildren(...data.meaning.flatMap(([title, text]) => [el("h3", null, title), el("p", null, text)]));
  byId("command").textContent = data.command || "(no command was recorded)";
  byId("repeat-note").textContent = data.repeat_note;
  byId("settings").hidden = !data.settings.length;
  byId("settings-table").replaceChildren(table(["Setting", "Value"],
    data.settings.map(([label, value]) => [el("span", { class: "mono" }, label), el("span", { class: "mono" }, value)])));
  byId("citations").replaceChildren(...data.citations.map((text) => el("li", null, text)));
  byId("bibtex").textContent = data.bibtex;
  byId("made-by").textContent = data.made_by;
}

function startCompared() {
  if (!data.compared.rows.length) return;
  byId("compared").hidden = false;
  byId("compared-why").textContent = data.compared.why;
  byId("compared-table").replaceChildren(table(data.compared.header, data.compared.rows,
    { right: data.compared.header.map((_, k) => k > 0), best: data.compared.chosen }));
}

function startReference() {
  const reference = data.reference;
  if (!reference) return;
  byId("reference").hidden = false;
  byId("reference-note").append(el("strong", null, name(reference.name)), reference.note ? ". " : "", reference.note || "");
  byId("reference-groups").replaceChildren(...reference.groups.map(({ title, tone, edges }) =>
    el("div", { class: tone }, el("h3", null, el("b", null, edges.length), title), el("ul", null, edges.map(edgeItem)))));
  if (reference.targets.length)
    byId("reference-targets").replaceChildren(table(["Environment", "Known to be touched", "Found", "Agreement"],
      reference.targets.map(([environment, known, found, verdict]) => [name(environment), listed(known.map(name)), found.length ? listed(found.map(name)) : "nothing", verdict])));
}

startWords();
startGraph();
startBeliefs();
startTargets();
startForming();
startCompared();
startReference();
