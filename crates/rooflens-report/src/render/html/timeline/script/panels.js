// Panels.
const fitLength = () => Math.max(...open.map((panel) => panel.window.span - panel.offset), 1);
const fit = () => {
  span.from = Math.min(...open.map((panel) => -panel.offset), 0);
  span.length = (fitLength() - span.from) * 1.01;
  redraw();
};
// The longest time without an activity in a window, from its first moment.
const longestGap = (shown) => {
  const busy = shown.lanes.filter((lane) => lane.kind === "stream")
    .flatMap((lane) => Array.from(lane.at, (at, i) => [at, at + lane.dur[i]])).sort((a, b) => a[0] - b[0]);
  let [end, longest] = [0, [0, 0]];
  for (const [from, to] of busy) {
    if (from - end > longest[1] - longest[0]) longest = [end, from];
    end = Math.max(end, to);
  }
  return longest;
};
// What is seen at first: all, or what follows where most of it is one gap before the work.
const look = () => {
  fit();
  const gaps = open.map((panel) => [panel, longestGap(panel.window)]);
  const isQuiet = ([panel, [from, to]]) => to - from > 0.6 * panel.window.span && to < panel.window.span;
  if (!gaps.length || !gaps.every(isQuiet)) return;
  const begin = Math.min(...gaps.map(([panel, [, to]]) => to - panel.offset));
  const rest = fitLength() - begin;
  span.from = begin - 0.04 * rest;
  span.length = rest * 1.06;
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
    hideTip();
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
