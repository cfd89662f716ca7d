// Living charts: the typed data of the page, drawn by ECharts in place of the still pictures, which stay for print
// and for readers without a script. Names come from traces: they are only ever set as text.

const byId = (id) => document.getElementById(id);
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

// Numbers as the rest of the page writes them.
const digits = (value) => (value < 99.995 ? value.toFixed(2) : value < 999.95 ? value.toFixed(1) : value.toFixed(0));
const scaled = (value, base, units) => {
  let rest = Math.abs(value);
  let place = 0;
  while (rest >= base - 0.05 && place + 1 < units.length) {
    rest /= base;
    place += 1;
  }
  return `${value < 0 ? "-" : ""}${digits(rest)} ${units[place]}`;
};
const whole = (value) => value.toLocaleString("en-US");
const time = (ns) =>
  Math.abs(ns) < 999.5 && Number.isInteger(ns) ? `${ns} ns` : scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
const bytes = (value) =>
  Math.abs(value) < 1023.5 && Number.isInteger(value)
    ? `${value} B`
    : scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
const amount = (value, unit) =>
  value === 0 ? `0 ${unit}` : scaled(value, 1000, ["", "k", "M", "G", "T", "P", "E", "Z"].map((prefix) => prefix + unit));
const share = (value) => (value > 0 && value < 0.0005 ? "<0.1%" : `${(value * 100).toFixed(1)}%`);
const words = (name) => name.replaceAll("_", " ");
// Ticks: no more digits than they need.
const short = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
const inUnit = (value, unit) => {
  if (unit === "B") return bytes(value);
  return unit === "1" ? share(value) : amount(value, unit);
};

// The colours of the page, as they are now: light or dark.
const TONES = {
  compute: "compute", floor: "floor", unneeded: "unneeded", communication: "communication", rank_wait: "wait",
  copy: "copy", idle: "idle", launch_bound: "launch", cpu_bound: "cpu", sync: "sync",
  dependency: "dependency", dispatch: "dispatch", other_idle: "other", plain: "plain",
};
const PALETTE = ["compute", "launch", "communication", "cpu", "sync", "copy", "unneeded", "other", "wait", "floor"];
const SYMBOLS = ["circle", "rect", "triangle", "diamond", "pin", "arrow", "roundRect"];
const theme = () => {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    colour,
    ink: colour("ink"), muted: colour("muted"), line: colour("line"), soft: colour("soft"), card: colour("card"),
    tone: (tone) => colour(TONES[tone] ?? "plain"),
    nth: (index) => colour(PALETTE[index % PALETTE.length]),
    symbol: (index) => SYMBOLS[index % SYMBOLS.length],
  };
};

// What every chart has.
const FONT = getComputedStyle(document.body).fontFamily;
const ZOOM = { type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true, moveOnMouseWheel: false };
const axis = (colours, more) => ({
  nameLocation: "middle",
  nameTextStyle: { color: colours.muted, fontSize: 12 },
  axisLine: { lineStyle: { color: colours.line } },
  axisTick: { lineStyle: { color: colours.line } },
  axisLabel: { color: colours.muted, fontSize: 11, hideOverlap: true },
  splitLine: { lineStyle: { color: colours.line, opacity: 0.6 } },
  ...more,
});
const logAxis = (colours, [low, high], name, format, more) =>
  axis(colours, {
    type: "log", min: low, max: high, name, minorTick: { show: false },
    axisLabel: { color: colours.muted, fontSize: 11, hideOverlap: true, formatter: (value) => short(format(value)) },
    ...more,
  });
const decades = (values, room = 1.3) => {
  const known = values.filter((value) => value > 0 && Number.isFinite(value));
  const low = Math.min(...known) / room;
  const high = Math.max(...known) * room;
  return [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))];
};
// Sizes have round binary steps: 1 MiB, 2 MiB.
const byteAxis = (colours, most, steps = 5) => {
  const interval = 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, most) / steps)));
  return axis(colours, {
    type: "value", min: 0, interval, max: interval * Math.ceil((most * 1.02) / interval),
    axisLabel: { color: colours.muted, fontSize: 11, formatter: (value) => short(bytes(value)) },
  });
};
const rule = (colours, name, value, text) => ({
  name, yAxis: value, symbol: "none",
  label: { formatter: text, position: "insideEndTop", color: colours.ink, fontSize: 11, textBorderColor: colours.card, textBorderWidth: 3 },
});
const rules = (colours, data) => ({
  silent: true, symbol: "none", animation: false,
  lineStyle: { color: colours.muted, type: "dashed", width: 1 }, data,
});

// A tip: a title, rows of names and values, and what is lost in bold.
const tipOf = ({ title, rows, note }) => {
  const list = make("dl");
  for (const [name, value, isLoud] of rows) {
    if (value === null || value === undefined) continue;
    list.append(make("dt", { textContent: name }), make("dd", { textContent: value, className: isLoud ? "loud" : "" }));
  }
  const box = make("div", { className: "chart-tip" }, make("b", { textContent: title }), list);
  if (note) box.append(make("p", { textContent: note }));
  return box;
};
const tipText = ({ title, rows, note }) =>
  [title, ...rows.filter(([, value]) => value).map(([name, value]) => `${name} ${value}`), note].filter(Boolean).join(", ");
const tooltip = (colours, more) => ({
  trigger: "item", confine: true, transitionDuration: 0, padding: [7, 10], borderWidth: 1, className: "chart-tip-frame",
  backgroundColor: colours.card, borderColor: colours.line, textStyle: { color: colours.ink, fontSize: 12, fontFamily: FONT },
  formatter: (point) => (point.data?.tip ? tipOf(point.data.tip) : ""),
  ...more,
});

// Where another part of the page can show more.
const show = (detail) => document.dispatchEvent(new CustomEvent("rooflens:show", { detail }));

// How each kind of chart is drawn: `drawers.kind(data)` gives the controls and a function from colours and what is
// chosen to an option of ECharts.
const drawers = {};
