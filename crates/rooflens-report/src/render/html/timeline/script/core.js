// The timeline of steps: lanes on a canvas, the way from a row of a table to its place in time and back. All text of
// the trace is set as text, never as markup; nothing is asked of the network.
const holder = document.getElementById("timeline-data");
const view = document.getElementById("timeline-view");
if (!holder || !view) return;
const data = JSON.parse(holder.textContent);
document.documentElement.classList.add("timeline");

// Words and numbers.
const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const time = (ns) => {
  const size = Math.abs(ns);
  const [scale, unit] = UNITS.find(([scale]) => size >= scale) ?? UNITS[3];
  const value = ns / scale;
  const digits = unit === "ns" ? 0 : Math.abs(value) >= 100 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
};
const exact = (ns) => `${ns.toLocaleString("en-US")} ns`;
const share = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)}%` : "–");
const words = (word) => word.replaceAll("_", " ");
const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
};
const shortName = (at) => data.names[at]?.[0] ?? "";
const fullName = (at) => data.names[at]?.[1] ?? shortName(at);
const classOf = (at) => data.names[at]?.[2] ?? null;
const floorOf = (at, kind) => data.names[at]?.[3]?.[kind] ?? null;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const label = (step) => `${step.kind === "step" ? "" : `${words(step.kind)} `}step ${step.number}`;

// Lanes come as differences: starts since that of the window are what is drawn and searched.
for (const window of data.windows) {
  for (const lane of window.lanes) {
    const at = new Float64Array(lane.start.length);
    let now = 0;
    for (let i = 0; i < at.length; i += 1) at[i] = now += lane.start[i];
    lane.at = at;
    lane.many = new Map((lane.merged ?? []).map(([place, count, busy]) => [place, { count, busy }]));
  }
}

// Colours follow the page's, in light and dark.
const CLASSES = {
  gemm: "--compute", gemv: "--compute", attention: "--attention", moe: "--moe", norm: "--norm",
  communication: "--communication", memcpy: "--copy", memset: "--copy", activation: "--unneeded",
  elementwise: "--unneeded", copy: "--unneeded", random: "--unneeded",
};
const LEGEND = [
  ["--compute", "GEMM"], ["--attention", "attention"], ["--moe", "MoE"], ["--norm", "norm"],
  ["--unneeded", "elementwise, copy, activation"], ["--rest", "other kernels"],
  ["--communication", "communication"], ["--copy", "memory copies"],
];
const TONES = {
  launch: "--launch", cpu: "--cpu", sync: "--sync", dependency: "--dependency", dispatch: "--dispatch",
  other: "--other", wait: "--wait",
};
let colours = {};
const readColours = () => {
  const style = getComputedStyle(document.documentElement);
  const names = [
    "--page", "--card", "--ink", "--muted", "--line", "--soft", "--accent", "--floor", "--rest", "--idle",
    ...Object.values(CLASSES), ...Object.values(TONES),
  ];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(name).trim()]));
};
readColours();
const colour = (lane, at) => {
  const what = lane.what[at];
  if (lane.kind === "idle") return colours[TONES[data.lines[what]?.[3]] ?? "--other"];
  if (lane.kind === "layers") return colours[what % 2 ? "--soft" : "--idle"];
  if (lane.kind === "collectives") return colours["--communication"];
  if (lane.kind === "stream") return colours[CLASSES[classOf(what)] ?? "--rest"];
  return colours["--idle"];
};
const laneText = (lane, at) => {
  const what = lane.what[at];
  if (lane.kind === "idle") return data.lines[what]?.[1] ?? "";
  if (lane.kind === "layers") return String(what);
  const many = lane.many.get(at);
  return many ? `${many.count} activities` : shortName(what);
};

// What is chosen.
const steps = data.steps;
const drawn = steps.filter((step) => step.window !== undefined);
const kinds = [...new Set(steps.map((step) => step.kind))];
const sound = (kind) => {
  const of = steps.filter((step) => step.kind === kind);
  const kept = of.filter((step) => !step.excluded);
  return kept.length ? kept : of;
};
// What the recording did to a step. Where it did so to all of them, they are what statistics are of.
const flawOf = (step) => {
  if (!step.excluded) return "";
  const kept = steps.some((other) => other.kind === step.kind && !other.excluded);
  return `${kept ? "left out of statistics" : "affected by the recording"}: ${words(step.excluded)}`;
};
// Time that the ledger does not count for a step, where that is much of it.
const elsewhere = (step) => (step.others > 0.05 * step.wall * Math.max(step.devices ?? 1, 1)
  ? `, ${time(step.others)} of it time of other steps or of none` : "");
const byTime = (kind) => sound(kind).slice().sort((a, b) => a.wall - b.wall || a.index - b.index);
const medianOf = (kind) => {
  const all = byTime(kind);
  // Half of the steps take no longer: the same as the percentiles of the tables.
  const wanted = all[(all.length - 1) >> 1];
  if (!wanted || wanted.window !== undefined) return wanted;
  // Where its activities are not on the page, the drawn one nearest to it.
  const near = drawn.filter((step) => step.kind === kind);
  return near.sort((a, b) => Math.abs(a.wall - wanted.wall) - Math.abs(b.wall - wanted.wall))[0] ?? wanted;
};
const weight = (kind) => steps.reduce((sum, step) => sum + (step.kind === kind ? step.wall : 0), 0);
const state = {
  kind: kinds.slice().sort((a, b) => weight(b) - weight(a))[0],
  chosen: null, excerpt: null, mark: null, selected: null, hover: null,
};
