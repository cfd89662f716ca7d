// From a figure of the page to a living chart: controls, legend, keys, colours, size.
const announcer = make("p", { className: "hidden" });
announcer.setAttribute("aria-live", "polite");
document.body.append(announcer);

const control = ({ key, label, values, all, initial }, state, redraw) => {
  state[key] = all ? "" : initial ?? values[0]?.[0] ?? "";
  if (values.length < 2) return null;
  const select = make("select", { name: key }, ...(all ? [new Option("all", "")] : []), ...values.map(([value, text]) => new Option(text, value)));
  select.value = state[key];
  select.addEventListener("change", () => {
    state[key] = select.value;
    redraw(key);
  });
  return make("label", {}, label, select);
};

// A choice may rule out others: what cannot be chosen is hidden, and what was chosen so far is given up.
const settle = (drawer, state, tools, key) => {
  drawer.settle?.(state, key);
  const offered = drawer.offered?.(state) ?? {};
  for (const select of tools.querySelectorAll("select")) {
    const kept = offered[select.name];
    for (const option of select.options) option.hidden = option.disabled = Boolean(kept && option.value && !kept.has(option.value));
    if (kept && state[select.name] && !kept.has(state[select.name])) state[select.name] = "";
    select.value = state[select.name];
  }
};

const legendOf = (entries, state, redraw) =>
  entries.map(({ name, text, tone, index }) => {
    const swatch = make("i", { className: "swatch" });
    const colours = theme();
    swatch.style.background = tone ? colours.tone(tone) : colours.nth(index);
    const button = make("button", { type: "button" }, swatch, text);
    button.setAttribute("aria-pressed", String(!state.hidden.has(name)));
    button.addEventListener("click", () => {
      if (!state.hidden.delete(name)) state.hidden.add(name);
      redraw("legend");
    });
    return button;
  });

const scaleOf = ([low, shades, high]) => {
  const bar = make("i", { className: "shades" });
  bar.style.background = `linear-gradient(to right, ${shades.join(", ")})`;
  return make("span", {}, low, bar, high);
};

// Arrow keys go from point to point, the weightiest first; Enter does what a click does.
const addKeys = (frame, chart) => {
  let at = -1;
  const stops = () =>
    chart.getOption().series
      .flatMap((one, series) => (one.data ?? []).map((item, index) => ({ series, index, item })))
      .filter(({ item }) => item?.tip)
      .sort((a, b) => (b.item.weight ?? 0) - (a.item.weight ?? 0));
  frame.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const found = step || event.key === "Enter" ? stops() : [];
    if (step && found.length) {
      event.preventDefault();
      chart.dispatchAction({ type: "downplay" });
      at = (at + step + found.length) % found.length;
      const { series, index, item } = found[at];
      chart.dispatchAction({ type: "highlight", seriesIndex: series, dataIndex: index });
      chart.dispatchAction({ type: "showTip", seriesIndex: series, dataIndex: index });
      announcer.textContent = tipText(item.tip);
    } else if (event.key === "Enter" && found[at]?.item.show) {
      show(found[at].item.show);
    } else if (event.key === "Escape") {
      chart.dispatchAction({ type: "hideTip" });
      at = -1;
    }
  });
};

const bringAlive = (figure, data) => {
  const drawer = drawers[data.kind](data);
  const state = { hidden: new Set() };
  const tools = make("div", { className: "chart-tools" });
  const legend = make("div", { className: "chart-legend" });
  const canvas = make("div", { className: "chart-canvas" });
  const frame = make("div", { className: "live", tabIndex: 0 }, canvas);
  const note = make("p", { className: "aside" });
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", `${data.title}: arrow keys go from point to point`);
  canvas.style.height = `${drawer.height}px`;
  figure.append(tools, legend, frame, note);
  figure.classList.add("alive");
  const chart = echarts.init(canvas, null, { renderer: "svg" });

  const redraw = (key) => {
    settle(drawer, state, tools, key);
    const colours = theme();
    const option = drawer.option(colours, state);
    chart.setOption({
      animation: false, textStyle: { fontFamily: FONT }, tooltip: tooltip(colours),
      aria: { enabled: true, label: { description: [data.title, data.subtitle, note.textContent].filter(Boolean).join(". ") } },
      ...option,
    }, true);
    note.textContent = drawer.note?.(state) ?? "";
    const pressed = document.activeElement?.closest?.(".chart-legend") === legend ? [...legend.children].indexOf(document.activeElement) : -1;
    legend.replaceChildren(...(drawer.legend ? legendOf(drawer.legend(state), state, redraw) : []));
    if (drawer.scale) legend.append(scaleOf(drawer.scale(colours, state)));
    legend.children[pressed]?.focus();
  };
  tools.append(...drawer.controls.map((one) => control(one, state, redraw)).filter(Boolean));
  redraw("begin");
  addKeys(frame, chart);
  chart.on("click", ({ data: item }) => item?.show && show(item.show));
  chart.getZr().on("dblclick", () => redraw("zoom"));
  new ResizeObserver(() => chart.resize()).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw("theme"));
};

// A chart is drawn when it comes near: pages have many.
const waiting = new Map();
const nearby = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    const data = waiting.get(target);
    if (!isIntersecting || !data) continue;
    nearby.unobserve(target);
    waiting.delete(target);
    bringAlive(target, data);
  }
}, { rootMargin: "600px 0px" });
for (const data of JSON.parse(byId("charts-data").textContent)) {
  const figure = document.querySelector(`figure.living[data-chart="${data.name}"]`);
  if (!figure || !drawers[data.kind]) continue;
  waiting.set(figure, data);
  nearby.observe(figure);
}
