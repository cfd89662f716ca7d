// Controls.
if (kinds.length > 1) {
  for (const kind of kinds) {
    controls.append(element("button", {
      type: "button", "data-kind": kind, "aria-pressed": "false",
      onclick: () => { state.kind = kind; state.chosen = null; state.excerpt = null; build(); },
    }, words(kind)));
  }
}
const buttons = [
  ["Zoom in", () => zoom(0.6, 0.5)], ["Zoom out", () => zoom(1.6, 0.5)], ["Show all", () => {
    state.mark = null;
    if (state.excerpt !== null) { state.excerpt = null; build(); }
    select(null);
    fit();
  }], ["Open in Perfetto UI", openPerfetto],
];
controls.append(...buttons.map(([text, act]) => element("button", { type: "button", onclick: act }, text)));
const legend = element("div", { class: "legend" });
const key = (name, text) => element("span", {},
  element("i", { class: `swatch tl-key ${name.slice(2)}` }), text);
const used = new Set(data.windows.flatMap((window) => window.lanes.filter((lane) => lane.kind === "stream")
  .flatMap((lane) => lane.what.map((what) => CLASSES[classOf(what)] ?? "--rest"))));
legend.append(...LEGEND.filter(([name]) => used.has(name)).map(([name, text]) => key(name, text)));
if (data.floor) legend.append(key("--floor", `lower bound (${data.floor}), mean of a kernel's calls`));
const gaps = new Set(data.windows.flatMap((window) => window.lanes.filter((lane) => lane.kind === "idle")
  .flatMap((lane) => lane.what)));
// Causes of one colour share a key.
const causes = new Map();
for (const [at, line] of data.lines.entries()) {
  const name = TONES[line[3]] ?? "--other";
  if (gaps.has(at)) causes.set(name, [...(causes.get(name) ?? []), line[1]]);
}
for (const [name, titles] of causes) legend.append(key(name, `idle: ${titles.join(", ")}`));
if (data.windows.some((window) => window.lanes.some((lane) => lane.wait))) {
  legend.append(key("--wait", "waiting for other ranks"));
}
if (steps.length > 1) strip.append(element("div", {}, stripCanvas));
const help = element("p", { class: "aside" },
  `Drag to move, Ctrl or Shift + wheel to zoom, arrow keys when focused; click a slice for its row${
    steps.length > 1 ? ", a bar above for its step" : ""}.`);
view.append(controls, strip, legend, panels, details, difference, help);
if (!steps.length) state.excerpt = data.windows.length ? 0 : null;
build();

// A way to the timeline in every row that has a place there.
for (const body of document.querySelectorAll("tbody[data-place]")) {
  const cell = body.rows[0].cells[0];
  const button = element("button", {
    type: "button", class: "tl-go", title: "Show in the timeline", "aria-label": "Show in the timeline",
    onclick: (event) => { event.stopPropagation(); goTo(body.dataset.place); },
  });
  cell.append(button);
}
// From a row back to what led to it.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !document.activeElement?.closest("tbody.found") || !state.selected) return;
  focus(state.selected.panel);
});
// Charts lead here too.
document.addEventListener("rooflens:show", ({ detail }) => {
  if (detail.kind === "step") {
    const off = (step) => Math.abs(Number(step.start) - detail.ts_ns);
    const near = steps.filter((step) => !detail.phase || step.kind === detail.phase).sort((a, b) => off(a) - off(b))[0];
    if (!near) return;
    choose(near);
    focus(open[open.length - 1]);
  } else if (detail.kind === "kernel") {
    const name = data.names.findIndex((_, at) => fullName(at) === detail.name || shortName(at) === detail.name);
    if (name >= 0) goTo(`kernel ${name}`);
  } else if (detail.kind === "layer") goTo(`layer ${detail.layer}`);
  else if (detail.kind === "class") goTo(`class ${detail.class}`);
});
const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => { readColours(); drawStrip(); redraw(); });
new ResizeObserver(() => { drawStrip(); redraw(); }).observe(view);
// For tests and for those who script the page.
window.rooflensTimeline = {
  data, goTo, choose, span, redraw,
  selected: () => state.selected && {
    start_ns: (BigInt(state.selected.panel.window.start) + BigInt(state.selected.lane.at[state.selected.at])).toString(),
    dur_ns: state.selected.lane.dur[state.selected.at],
    name: fullName(state.selected.lane.what[state.selected.at]),
    kind: state.selected.lane.kind,
  },
};
