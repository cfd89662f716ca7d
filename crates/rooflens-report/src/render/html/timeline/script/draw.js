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

// As many digits as tell a tick from the next.
const tickTime = (ns, step) => {
  const [scale, unit] = UNITS.find(([scale]) => Math.abs(ns) >= scale) ?? UNITS[3];
  const digits = Math.min(Math.max(Math.ceil(-Math.log10(step / scale) - 1e-9), unit === "ns" ? 0 : 1), 9);
  return `${(ns / scale).toFixed(digits)} ${unit}`;
};
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
    const text = at === 0 ? "0" : tickTime(at, step);
    if (x + context.measureText(text).width < width) context.fillText(text, x + 3, bottom + 16);
  }
};

const matches = (lane, at) => {
  const mark = state.mark;
  if (!mark) return true;
  if (mark.kind === "name") return lane.what[at] === mark.name && lane.kind !== "idle" && lane.kind !== "layers"
    || lane.operator?.[at] === mark.name;
  if (mark.kind === "class") {
    return (lane.kind === "stream" && classOf(lane.what[at]) === mark.class)
      || (lane.kind === "collectives" && mark.class === "communication");
  }
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
