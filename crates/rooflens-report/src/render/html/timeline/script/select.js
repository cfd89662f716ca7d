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
  body.scrollIntoView({ block: "center", behavior: "instant" });
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
  if (step) fact("since the step's first activity", time(Number(start - BigInt(step.start))));
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
  fact("lane", lane.title);
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
