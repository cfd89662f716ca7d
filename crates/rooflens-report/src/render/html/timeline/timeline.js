// The timeline of steps: lanes on a canvas, the way from a row of a table to its place in time and back. All text of
// the trace is set as text, never as markup; nothing is asked of the network.
"use strict";
(() => {
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
  const share = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "–");
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
  const label = (step) => `${step.kind === "step" ? "" : `${words(step.kind)} `}step ${step.number ?? step.index}`;

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
    launch: "--launch", cpu: "--cpu", sync: "--sync", other: "--other", wait: "--wait",
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

  // The strip of all steps.
  const strip = element("div", { class: "tl-strip" });
  const panels = element("div", { class: "tl-panels" });
  const details = element("div", { class: "tl-details", role: "status", "aria-live": "polite" });
  const difference = element("div", { class: "tl-difference" });
  const controls = element("div", { class: "tl-controls" });

  const stripCanvas = element("canvas", {
    tabindex: "0", role: "application", class: "tl-steps",
    "aria-label": "Steps in order, as bars of their time. Left and right choose a step.",
  });
  const STRIP = 64;
  let stripBars = [];
  const drawStrip = () => {
    if (!stripCanvas.parentElement) return;
    const of = steps.filter((step) => step.kind === state.kind);
    const { context, width } = prepare(stripCanvas, STRIP);
    const longest = Math.max(...of.map((step) => step.wall), 1);
    const bar = width / Math.max(of.length, 1);
    stripBars = of;
    const chosen = state.chosen;
    of.forEach((step, at) => {
      const height = Math.max(2, (step.wall / longest) * (STRIP - 14));
      context.fillStyle = step === chosen ? colours["--accent"]
        : step.excluded ? colours["--idle"] : step.window === undefined ? colours["--other"] : colours["--compute"];
      context.fillRect(at * bar, STRIP - height, Math.max(bar - (bar > 4 ? 1 : 0), 0.6), height);
    });
    context.fillStyle = colours["--muted"];
    context.font = FONT;
    context.textBaseline = "top";
    context.fillText(`longest ${time(longest)}`, 2, 0);
  };
  const choose = (step) => {
    state.chosen = step ?? null;
    state.kind = step?.kind ?? state.kind;
    state.excerpt = null;
    build();
  };
  stripCanvas.addEventListener("click", (event) => {
    const box = stripCanvas.getBoundingClientRect();
    choose(stripBars[Math.floor(((event.clientX - box.left) / box.width) * stripBars.length)]);
  });
  stripCanvas.addEventListener("pointermove", (event) => {
    const box = stripCanvas.getBoundingClientRect();
    const step = stripBars[Math.floor(((event.clientX - box.left) / box.width) * stripBars.length)];
    if (step) showTip(event, `${label(step)}: ${time(step.wall)}${step.excluded ? `, left out: ${step.excluded}` : ""}`);
  });
  stripCanvas.addEventListener("pointerleave", () => hideTip());
  stripCanvas.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || !stripBars.length) return;
    event.preventDefault();
    const now = stripBars.indexOf(state.chosen);
    choose(stripBars[Math.min(Math.max(now + by, 0), stripBars.length - 1)]);
  });

  const tip = document.getElementById("tip");
  const showTip = (event, text) => {
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8)}px`;
  };
  const hideTip = () => { tip.hidden = true; };

  // Canvases have as many points as the screen.
  const FONT = "11px system-ui, sans-serif";
  const prepare = (canvas, height) => {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(canvas.parentElement.clientWidth, 50);
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d", { alpha: true });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return { context, width };
  };

  // One view for all panels, so that they can be compared: the first moment on the left, and its length.
  const span = { from: 0, length: 1 };
  let open = [];
  const gutter = () => (panels.clientWidth < 600 ? 0 : 168);
  const LANE = { phases: 18, layers: 18, idle: 16, stream: 30, collectives: 18, ranges: 16, operators: 16, calls: 14 };
  const TITLE = 13;
  const laneHeight = (lane) => LANE[lane.kind] + (gutter() ? 0 : TITLE) + 3;
  const panelHeight = (panel) => panel.window.lanes.reduce((sum, lane) => sum + laneHeight(lane), 0) + 18;

  const ticks = (context, width, from, length, bottom) => {
    const left = gutter();
    const rough = length / Math.max((width - left) / 110, 1);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((by) => by * power).find((by) => by >= rough);
    context.fillStyle = colours["--muted"];
    context.strokeStyle = colours["--line"];
    context.lineWidth = 1;
    context.textBaseline = "bottom";
    for (let at = Math.ceil(from / step) * step; at <= from + length; at += step) {
      const x = Math.round(left + ((at - from) / length) * (width - left)) + 0.5;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, bottom);
      context.stroke();
      const text = at === 0 ? "0" : time(at);
      if (x + context.measureText(text).width < width) context.fillText(text, x + 3, bottom + 16);
    }
  };

  const matches = (lane, at) => {
    const mark = state.mark;
    if (!mark) return true;
    if (mark.kind === "name") return lane.what[at] === mark.name && lane.kind !== "idle" && lane.kind !== "layers"
      || lane.operator?.[at] === mark.name;
    if (mark.kind === "class") return lane.kind === "stream" && classOf(lane.what[at]) === mark.class;
    if (mark.kind === "layer") return lane.kind === "layers" ? lane.what[at] === mark.layer : lane.layer?.[at] === mark.layer;
    if (mark.kind === "line") return lane.kind === "idle" ? lane.what[at] === mark.line : lineOf(lane, at) === mark.line;
    return true;
  };
  const lineAt = Object.fromEntries(data.lines.map(([name], at) => [name, at]));
  const lineOf = (lane, at) => {
    if (lane.kind !== "stream") return -1;
    const tone = CLASSES[classOf(lane.what[at])];
    const line = { "--communication": "communication", "--copy": "copies", "--unneeded": "unneeded" }[tone] ?? "kernels";
    return lineAt[line];
  };

  const firstAfter = (lane, moment) => {
    let low = 0;
    let high = lane.at.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (lane.at[middle] + lane.dur[middle] < moment) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  const drawPanel = (panel) => {
    const { canvas, window: shown, offset } = panel;
    const { context, width } = prepare(canvas, panelHeight(panel));
    const left = gutter();
    const from = span.from + offset;
    const scale = (width - left) / span.length;
    const kind = shown.step === undefined ? state.kind : steps[shown.step].kind;
    context.font = FONT;
    ticks(context, width, span.from, span.length, panelHeight(panel) - 18);
    let y = 0;
    panel.rows = [];
    for (const lane of shown.lanes) {
      const height = LANE[lane.kind];
      const top = y + (left ? 0 : TITLE) + 1;
      context.globalAlpha = 1;
      context.fillStyle = colours["--muted"];
      context.textBaseline = "middle";
      context.textAlign = "left";
      if (left) clipped(context, lane.title, 0, top + height / 2, left - 8);
      else context.fillText(lane.title, 0, y + TITLE / 2);
      panel.rows.push({ lane, top, height });
      context.save();
      context.beginPath();
      context.rect(left, top, width - left, height);
      context.clip();
      drawLane(context, { lane, top, height, left, width, from, scale, kind });
      context.restore();
      y += laneHeight(lane);
    }
    if (panel.arrow) drawArrow(context, panel, left, from, scale);
  };
  const clipped = (context, text, x, y, room) => {
    let shown = text;
    if (context.measureText(shown).width > room) {
      while (shown.length > 1 && context.measureText(`${shown}…`).width > room) shown = shown.slice(0, -1);
      shown += "…";
    }
    context.fillText(shown, x, y);
  };
  const drawLane = (context, { lane, top, height, left, width, from, scale, kind }) => {
    const end = from + (width - left) / scale;
    // What is narrower than a pixel adds to how much of it is filled, so that a lane looks as busy as it is.
    const pixel = { at: -1, filled: 0, best: 0, colour: "", marked: false };
    const flush = () => {
      if (pixel.filled <= 0) return;
      const alpha = Math.max(Math.min(pixel.filled, 1), 0.12);
      context.globalAlpha = state.mark && !pixel.marked ? alpha * 0.2 : state.mark ? 1 : alpha;
      context.fillStyle = pixel.colour;
      context.fillRect(pixel.at, top, 1, height);
      pixel.filled = pixel.best = 0;
      pixel.marked = false;
    };
    for (let at = firstAfter(lane, from); at < lane.at.length && lane.at[at] <= end; at += 1) {
      const x0 = left + (lane.at[at] - from) * scale;
      const size = lane.dur[at] * scale;
      const is = matches(lane, at);
      const selected = state.selected?.lane === lane && state.selected.at === at;
      if (size < 1.2 && !selected) {
        const place = Math.floor(x0);
        if (place !== pixel.at) flush();
        pixel.at = place;
        pixel.filled += Math.max(size, 0.02);
        const important = is && state.mark ? size + 2 : size;
        if (important >= pixel.best) {
          pixel.best = important;
          pixel.colour = colour(lane, at);
        }
        pixel.marked ||= is;
        continue;
      }
      flush();
      drawSlice(context, { lane, at, x0, size, top, height, left, width, scale, kind, is, selected });
    }
    flush();
    context.globalAlpha = 1;
  };
  const drawSlice = (context, { lane, at, x0, size, top, height, left, width, scale, kind, is, selected }) => {
    context.globalAlpha = is ? 1 : 0.18;
    context.fillStyle = colour(lane, at);
    context.fillRect(x0, top, Math.max(size, 1), height);
    if (lane.wait?.[at] > 0) hatch(context, x0, top, Math.max(lane.wait[at] * scale, 1), height);
    const floor = lane.kind === "stream" && size > 3 && !lane.many.has(at) ? floorOf(lane.what[at], kind) : null;
    if (floor !== null) {
      context.fillStyle = colours["--floor"];
      context.fillRect(x0, top + height - 6, Math.min(floor, lane.dur[at]) * scale, 6);
    }
    if (size > 26) {
      const light = lane.kind === "stream" || lane.kind === "collectives" || lane.kind === "idle";
      context.fillStyle = light ? "#fff" : colours["--ink"];
      context.textBaseline = "middle";
      context.textAlign = "left";
      const x = Math.max(x0, left) + 4;
      const raised = lane.kind === "stream" && data.floor ? 3 : 0;
      clipped(context, laneText(lane, at), x, top + height / 2 - raised, Math.min(x0 + size, width) - x - 3);
    }
    if (size > 3) {
      context.strokeStyle = colours["--card"];
      context.lineWidth = 0.6;
      context.strokeRect(x0 + 0.3, top + 0.3, size - 0.6, height - 0.6);
    }
    if (selected) {
      context.globalAlpha = 1;
      context.strokeStyle = colours["--ink"];
      context.lineWidth = 2;
      context.strokeRect(x0 + 1, top + 1, Math.max(size - 2, 1), height - 2);
    }
  };
  const hatch = (context, x, y, width, height) => {
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    context.fillStyle = colours["--wait"];
    context.fillRect(x, y, width, height);
    context.strokeStyle = "rgba(255,255,255,.55)";
    context.lineWidth = 1;
    context.beginPath();
    for (let at = x - height; at < x + width; at += 5) {
      context.moveTo(at, y + height);
      context.lineTo(at + height, y);
    }
    context.stroke();
    context.restore();
  };
  // From the launching call to the kernel.
  const drawArrow = (context, panel, left, from, scale) => {
    const { lane, at } = panel.arrow;
    const delay = lane.launch?.[at];
    const row = panel.rows.find((row) => row.lane === lane);
    const host = panel.rows.find((row) => row.lane.kind === "calls") ?? panel.rows.find((row) => row.lane.kind === "operators");
    if (!(delay >= 0) || !row || !host) return;
    const x0 = left + (lane.at[at] - delay - from) * scale;
    const x1 = left + (lane.at[at] - from) * scale;
    if (x0 < left) return;
    context.strokeStyle = colours["--ink"];
    context.lineWidth = 1.2;
    context.beginPath();
    context.moveTo(x0, host.top);
    context.lineTo(x1, row.top + row.height);
    context.stroke();
  };

  // Frames are drawn when something has changed, once.
  let asked = false;
  const redraw = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      for (const panel of open) drawPanel(panel);
    });
  };

  // What lies at a point.
  const hit = (panel, event) => {
    const box = panel.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const row = panel.rows?.find((row) => y >= row.top && y < row.top + row.height);
    const left = gutter();
    if (!row || x < left) return null;
    const width = box.width - left;
    const moment = span.from + panel.offset + ((x - left) / width) * span.length;
    const near = (2.5 / width) * span.length;
    let best = null;
    const { lane } = row;
    for (let at = firstAfter(lane, moment - near); at < lane.at.length && lane.at[at] <= moment + near; at += 1) {
      const off = moment < lane.at[at] ? lane.at[at] - moment : Math.max(moment - lane.at[at] - lane.dur[at], 0);
      if (!best || off < best.off) best = { at, off };
    }
    return best && { panel, lane, at: best.at };
  };
  const describe = ({ panel, lane, at }) => {
    const dur = lane.dur[at];
    const parts = [laneText(lane, at), time(dur)];
    const kind = panel.window.step === undefined ? state.kind : steps[panel.window.step].kind;
    const floor = lane.kind === "stream" ? floorOf(lane.what[at], kind) : null;
    if (floor !== null) parts.push(`lower bound ${time(floor)} (mean of its calls)`);
    if (lane.wait?.[at] >= 0) parts.push(`${time(lane.wait[at])} of it waiting for other ranks`);
    if (lane.layer?.[at] >= 0) parts.push(`layer ${lane.layer[at]}`);
    return parts.join(" · ");
  };

  // The selected slice, with ways to its rows.
  const rowOf = (place) => document.querySelector(`tbody[data-place="${CSS.escape(place).replaceAll("\\ ", " ")}"]`);
  const reveal = (body) => {
    for (let around = body.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
    const table = body.closest("table");
    const input = table.closest(".scroll")?.previousElementSibling?.querySelector("input");
    if (input?.value) {
      input.value = "";
      input.dispatchEvent(new Event("input"));
    }
    table.classList.remove("short");
    for (const other of document.querySelectorAll("tbody.found")) other.classList.remove("found");
    body.classList.add("found");
    body.scrollIntoView({ block: "center" });
    const target = body.querySelector(".tl-go") ?? body;
    target.focus({ preventScroll: true });
  };
  const wayTo = (place, text) => {
    const body = rowOf(place);
    return body && element("button", { type: "button", onclick: () => reveal(body) }, text);
  };
  const showDetails = () => {
    details.replaceChildren();
    const selected = state.selected;
    if (!selected) return;
    const { panel, lane, at } = selected;
    const what = lane.what[at];
    const named = !["idle", "layers"].includes(lane.kind);
    const start = BigInt(panel.window.start) + BigInt(lane.at[at]);
    const facts = element("dl");
    const fact = (name, value) => value !== null && value !== undefined && facts.append(
      element("div", {}, element("dt", {}, name), element("dd", {}, value)));
    const step = panel.window.step === undefined ? null : steps[panel.window.step];
    const title = lane.kind === "layers" ? `layer ${what}` : named ? fullName(what) : `idle: ${data.lines[what]?.[1]}`;
    fact("start", exact(start));
    fact("duration", exact(lane.dur[at]));
    const many = lane.many.get(at);
    if (many) fact("stands for", `${many.count} short activities, ${time(many.busy)}`);
    const floor = lane.kind === "stream" && step ? floorOf(what, step.kind) : null;
    if (floor !== null) fact("lower bound", `${time(floor)}, mean of its calls in ${words(step.kind)}`);
    if (named && classOf(what)) fact("class", words(classOf(what)));
    if (lane.layer?.[at] >= 0) fact("layer", String(lane.layer[at]));
    if (lane.operator?.[at] >= 0) fact("launched by", shortName(lane.operator[at]));
    if (lane.launch?.[at] >= 0) fact("launched", `${time(lane.launch[at])} before it began`);
    if (lane.wait?.[at] >= 0) fact("waiting for other ranks", time(lane.wait[at]));
    if (step) fact("in", label(step));
    if (panel.window.rank) fact("rank", String(panel.window.rank));
    const ways = [
      named && lane.kind === "stream" && wayTo(`kernel ${what}`, "Row of this kernel"),
      named && lane.kind === "operators" && wayTo(`operator ${what}`, "Row of this operator"),
      lane.operator?.[at] >= 0 && wayTo(`operator ${lane.operator[at]}`, "Row of its operator"),
      (lane.layer?.[at] >= 0 || lane.kind === "layers")
        && wayTo(`layer ${lane.kind === "layers" ? what : lane.layer[at]}`, "Row of its layer"),
      named && classOf(what) && wayTo(`class ${classOf(what)}`, "Row of its class"),
      lane.kind === "idle" && wayTo(`line ${what}`, "Row of this cause"),
    ].filter(Boolean);
    details.append(element("h3", {}, title), facts, element("div", { class: "tl-ways" }, ...ways));
  };
  const select = (found, { scroll = false } = {}) => {
    state.selected = found;
    for (const panel of open) panel.arrow = found && found.panel === panel ? found : null;
    showDetails();
    if (scroll && found) bring(found);
    redraw();
  };
  // Puts a slice into view, with room on both sides.
  const bring = ({ panel, lane, at }) => {
    const length = Math.max(lane.dur[at] * 6, 40);
    span.length = Math.min(Math.max(length, 40), fitLength());
    span.from = lane.at[at] + lane.dur[at] / 2 - panel.offset - span.length / 2;
  };

  // Panels.
  const fitLength = () => Math.max(...open.map((panel) => panel.window.span - panel.offset), 1);
  const fit = () => {
    span.from = Math.min(...open.map((panel) => -panel.offset), 0);
    span.length = (fitLength() - span.from) * 1.01;
    redraw();
  };
  const panelOf = (windowAt, title) => {
    const shown = data.windows[windowAt];
    const step = shown.step === undefined ? null : steps[shown.step];
    const canvas = element("canvas", {
      tabindex: "0", role: "application", class: "tl-canvas",
      "aria-label": `${title}. Arrow keys move and zoom, n and p go to the next and the last call of the same name, `
        + "Enter shows the row, 0 shows all, Escape clears.",
    });
    const panel = {
      canvas, window: shown, at: windowAt, arrow: null,
      // Steps are laid over each other at their first moment on the device.
      offset: step ? Number(BigInt(step.start) - BigInt(shown.start)) : 0,
    };
    const frame = element("div", { class: "tl-panel" }, element("h3", {}, title), element("div", {}, canvas));
    attach(panel);
    return { panel, frame };
  };
  const attach = (panel) => {
    const { canvas } = panel;
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, from: span.from, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held) {
        const width = canvas.clientWidth - gutter();
        if (Math.abs(event.clientX - held.x) > 3) held.moved = true;
        if (held.moved) {
          span.from = held.from - ((event.clientX - held.x) / width) * span.length;
          redraw();
          return;
        }
      }
      const found = hit(panel, event);
      if (found) showTip(event, describe(found));
      else hideTip();
      const arrow = found ?? (state.selected?.panel === panel ? state.selected : null);
      if (panel.arrow?.lane !== arrow?.lane || panel.arrow?.at !== arrow?.at) {
        panel.arrow = arrow;
        redraw();
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      if (held && !held.moved) {
        state.mark = null;
        select(hit(panel, event));
      }
      held = null;
    });
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey && !event.metaKey) return; // the page scrolls
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      zoom(Math.exp(event.deltaY * 0.0022), (event.clientX - box.left - gutter()) / (box.width - gutter()));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const act = {
        ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), ArrowUp: () => zoom(0.7, 0.5),
        ArrowDown: () => zoom(1.4, 0.5), "+": () => zoom(0.7, 0.5), "-": () => zoom(1.4, 0.5), 0: fit,
        n: () => next(panel, 1), p: () => next(panel, -1), Enter: () => details.querySelector("button")?.click(),
        Escape: () => { state.mark = null; select(null); },
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
  };
  const move = (by) => { span.from += by * span.length; redraw(); };
  const zoom = (by, at) => {
    const length = Math.min(Math.max(span.length * by, 20), fitLength() * 4);
    span.from += at * (span.length - length);
    span.length = length;
    redraw();
  };
  // The next call of the same name, in the order of lanes and time.
  const next = (panel, by) => {
    const wanted = state.selected ? state.selected.lane.what[state.selected.at] : state.mark?.name;
    const all = [];
    for (const lane of panel.window.lanes) {
      if (!["stream", "operators", "calls"].includes(lane.kind)) continue;
      for (let at = 0; at < lane.at.length; at += 1) {
        if (wanted === undefined || lane.what[at] === wanted) all.push({ panel, lane, at });
      }
    }
    if (!all.length) return;
    const now = all.findIndex((one) => one.lane === state.selected?.lane && one.at === state.selected?.at);
    const start = now < 0 ? (by > 0 ? -1 : 0) : now;
    select(all[(start + by + all.length) % all.length], { scroll: true });
  };

  // What makes a step slower than the median one.
  const showDifference = (step, base) => {
    difference.replaceChildren();
    if (!step || !base || step === base) return;
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
        const find = element("button", { type: "button", class: "tl-find", onclick: () => go(place(row)) }, row.name);
        body.append(element("tr", {}, element("th", { scope: "row" }, find), number(time(row.base)),
          number(time(row.step)), number(`${by >= 0 ? "+" : "−"}${time(Math.abs(by))}`)));
      }
      const head = element("thead", {}, element("tr", {}, element("th", { scope: "col" }, title),
        ...["median", "this step", "change"].map((text) => element("th", { scope: "col", class: "n" }, text))));
      difference.append(element("div", {}, element("table", { class: "tl-table" }, head, body)));
    };
    const number = (text) => element("td", { class: "n" }, text);
    const sign = change >= 0 ? "longer" : "shorter";
    difference.append(element("p", { class: "tl-sentence" },
      `${label(step)} takes ${time(step.wall)}: ${time(Math.abs(change))} ${sign} than the median, ${label(base)} `
      + `(${time(base.wall)}).`));
    const layers = data.layers.map((layer) => `layer ${layer}`);
    rows("by layer, gaps included", layers, (one) => one.layers, (row) => ({ kind: "layer", layer: data.layers[row.at] }));
    rows("by class of kernel", data.classes.map(words), (one) => one.classes,
      (row) => ({ kind: "class", class: data.classes[row.at] }));
    rows("by line of the ledger", data.lines.map((line) => line[1]), (one) => one.lines,
      (row) => ({ kind: "line", line: row.at }));
  };

  // Goes to something: marks it in the open steps and selects its longest slice there.
  const go = (mark) => {
    state.mark = mark;
    let best = null;
    const panel = open[open.length - 1];
    for (const lane of panel.window.lanes) {
      for (let at = 0; at < lane.at.length; at += 1) {
        if (matches(lane, at) && (!best || lane.dur[at] > best.lane.dur[best.at])) best = { panel, lane, at };
      }
    }
    select(best, { scroll: Boolean(best) });
    panel.canvas.scrollIntoView({ block: "nearest" });
  };

  // From a row of a table to its place.
  const goTo = (place) => {
    const [kind, ...rest] = place.split(" ");
    const value = rest.join(" ");
    if (kind === "kernel" || kind === "operator") {
      const name = Number(value);
      const one = data.longest.find((one) => one[0] === name && one[1] === Number(kind === "operator"));
      if (!one) return;
      const [, , windowAt, laneAt, start, dur] = one;
      openWindow(windowAt);
      const panel = open.find((panel) => panel.at === windowAt);
      const lane = panel.window.lanes[laneAt];
      const at = lane.at.findIndex((from, at) => from === start && lane.dur[at] === dur && lane.what[at] === name);
      state.mark = { kind: "name", name };
      select({ panel, lane, at }, { scroll: true });
      focus(panel);
    } else if (kind === "moment") {
      const [windowAt, offset] = rest.map(Number);
      openWindow(windowAt);
      const panel = open.find((panel) => panel.at === windowAt);
      const idle = panel.window.lanes.find((lane) => lane.kind === "idle" && lane.at.includes(offset));
      state.mark = null;
      if (idle) select({ panel, lane: idle, at: idle.at.indexOf(offset) }, { scroll: true });
      else { select(null); fit(); }
      focus(panel);
    } else if (kind === "phase") {
      const of = steps.filter((step) => step.name === Number(value));
      choose(of.sort((a, b) => b.wall - a.wall)[0]);
      focus(open[open.length - 1]);
    } else {
      const mark = { kind, [kind]: kind === "class" ? value : Number(value) };
      state.excerpt = null;
      build();
      go(mark);
      focus(open[open.length - 1]);
    }
  };
  const focus = (panel) => {
    document.getElementById("timeline").scrollIntoView({ block: "start" });
    panel.canvas.focus({ preventScroll: true });
  };
  const openWindow = (windowAt) => {
    const { step } = data.windows[windowAt];
    if (step === undefined) {
      state.excerpt = windowAt;
      build();
    } else if (!open.some((panel) => panel.at === windowAt)) choose(steps[step]);
  };

  // The panels of what is chosen: the median, the slowest, and the one that was picked.
  const build = () => {
    const base = medianOf(state.kind);
    const slowest = byTime(state.kind).at(-1);
    const wanted = [];
    const add = (step, title) => {
      if (step && step.window !== undefined && !wanted.some((one) => one.at === step.window)) {
        wanted.push({ at: step.window, title: `${title}: ${label(step)}, ${time(step.wall)}` });
      }
    };
    state.selected = null;
    if (state.excerpt !== null) {
      wanted.push({ at: state.excerpt, title: "The longest call, with its neighbours" });
    } else {
      add(base, "Median");
      add(slowest, "Slowest");
      add(state.chosen, "Chosen");
    }
    const made = wanted.map(({ at, title }) => panelOf(at, title));
    open = made.map((one) => one.panel);
    panels.replaceChildren(...made.map((one) => one.frame));
    const chosen = state.chosen;
    if (chosen && chosen.window === undefined && state.excerpt === null) {
      panels.append(element("p", { class: "tl-note" },
        `The activities of ${label(chosen)} are not part of this page; its sums are below. `
        + "rooflens export writes every step for the Perfetto UI."));
    }
    showDifference(state.excerpt === null ? chosen ?? (slowest !== base ? slowest : null) : null, base);
    showDetails();
    drawStrip();
    fit();
    for (const button of controls.querySelectorAll("[data-kind]")) {
      button.setAttribute("aria-pressed", button.dataset.kind === state.kind);
    }
  };

  // Hands what is drawn to the Perfetto UI, in its documented way: a window is opened, and gets the trace by message
  // once it answers. Nothing happens before the click.
  const PERFETTO = "https://ui.perfetto.dev";
  const traceOfWindows = () => {
    const events = [];
    const us = (start, at) => Number(BigInt(start) - first + BigInt(at)) / 1000;
    const first = data.windows.reduce((low, one) => (BigInt(one.start) < low ? BigInt(one.start) : low), BigInt(data.windows[0].start));
    const tracks = new Map();
    for (const window of data.windows.filter((window) => window.step !== undefined)) {
      const before = new Map();
      for (const lane of window.lanes) {
        const pid = window.rank + 1;
        // Lanes of one title are tracks of their own.
        const same = before.get(lane.title) ?? 0;
        before.set(lane.title, same + 1);
        const key = `${pid} ${same} ${lane.title}`;
        if (!tracks.has(key)) {
          tracks.set(key, tracks.size + 1);
          events.push({ ph: "M", name: "thread_name", pid, tid: tracks.get(key), args: { name: lane.title } });
        }
        const tid = tracks.get(key);
        for (let at = 0; at < lane.at.length; at += 1) {
          const args = {};
          if (lane.layer?.[at] >= 0) args.layer = lane.layer[at];
          if (lane.operator?.[at] >= 0) args.operator = fullName(lane.operator[at]);
          if (lane.wait?.[at] >= 0) args.wait_ns = lane.wait[at];
          const name = lane.kind === "layers" || lane.kind === "idle" ? laneText(lane, at) : fullName(lane.what[at]);
          events.push({ ph: "X", pid, tid, name, ts: us(window.start, lane.at[at]), dur: lane.dur[at] / 1000, args });
        }
      }
    }
    return new TextEncoder().encode(JSON.stringify({ displayTimeUnit: "ns", traceEvents: events })).buffer;
  };
  const openPerfetto = () => {
    const other = window.open(PERFETTO);
    if (!other) return;
    const ask = setInterval(() => other.postMessage("PING", PERFETTO), 50);
    const answered = (event) => {
      if (event.origin !== PERFETTO || event.data !== "PONG") return;
      clearInterval(ask);
      removeEventListener("message", answered);
      other.postMessage({ perfetto: { buffer: traceOfWindows(), title: document.title, keepApiOpen: true } }, PERFETTO);
    };
    addEventListener("message", answered);
    setTimeout(() => clearInterval(ask), 60_000);
  };

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
    "Drag to move, Ctrl or Shift + wheel to zoom, arrow keys when focused; click a slice for its row, a bar above for its step.");
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
})();
