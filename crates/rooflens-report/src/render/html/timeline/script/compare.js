// What makes a step slower than the median one.
const showDifference = (step, base) => {
  difference.replaceChildren();
  if (!step || !base || step === base) return;
  if (step.excluded || base.excluded) {
    difference.append(element("p", { class: "tl-sentence" },
      `${capital(label(step.excluded ? step : base))} is affected by the recording (${words(step.excluded ?? base.excluded)}): `
      + "its time may hold work of other steps, so it is not compared."));
    return;
  }
  const change = step.wall - base.wall;
  const rows = (title, names, of, place) => {
    const all = names
      .map((name, at) => ({ name, at, base: of(base)[at], step: of(step)[at] }))
      .filter((row) => row.base || row.step)
      .sort((a, b) => Math.abs(b.step - b.base) - Math.abs(a.step - a.base) || a.at - b.at)
      .slice(0, 5);
    if (!all.length) return;
    const body = element("tbody");
    for (const row of all) {
      const by = row.step - row.base;
      const mark = place(row);
      const find = mark ? element("button", { type: "button", class: "tl-find", onclick: () => go(mark) }, row.name) : row.name;
      body.append(element("tr", {}, element("th", { scope: "row" }, find), number(time(row.base)),
        number(time(row.step)), number(`${by >= 0 ? "+" : "−"}${time(Math.abs(by))}`)));
    }
    const head = element("thead", {}, element("tr", {}, element("th", { scope: "col" }, title),
      ...["median", "this step", "change"].map((text) => element("th", { scope: "col", class: "n" }, text))));
    difference.append(element("div", {}, element("table", { class: "tl-table" }, head, body)));
  };
  const number = (text) => element("td", { class: "n" }, text);
  const sign = change >= 0 ? "longer" : "shorter";
  const isAlike = Math.abs(change) < 0.01 * base.wall;
  difference.append(element("p", { class: "tl-sentence" },
    `${capital(label(step))} takes ${time(step.wall)}: ${isAlike ? "about as long as" : `${time(Math.abs(change))} ${sign} than`} `
    + `the median, ${label(base)} (${time(base.wall)}).`));
  const layers = data.layers.map((layer) => `layer ${layer}`);
  rows("by layer, gaps included", layers, (one) => one.layers, (row) => ({ kind: "layer", layer: data.layers[row.at] }));
  rows("by class of kernel", data.classes.map(words), (one) => one.classes,
    (row) => ({ kind: "class", class: data.classes[row.at] }));
  // With what is no line of its own, the lines add up to the step.
  const lines = [...data.lines.map((line) => line[1]), "time of other steps, or of none"];
  rows("by line of the ledger", lines, (one) => [...one.lines, one.others ?? 0],
    (row) => (row.at < data.lines.length ? { kind: "line", line: row.at } : null));
};
