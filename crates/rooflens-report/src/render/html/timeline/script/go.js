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
  } else if (kind === "kind") {
    state.kind = value;
    choose(byTime(value).at(-1));
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
  document.getElementById("timeline").scrollIntoView({ block: "start", behavior: "instant" });
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
      const rank = data.ranks > 1 ? ` of rank ${data.windows[step.window].rank}` : "";
      // A step that the recording disturbed is neither the median nor the slowest of anything, and nor is an only one.
      const isOne = step.excluded || sound(step.kind).length < 2;
      const flaw = step.excluded ? `; ${flawOf(step)}` : "";
      wanted.push({ at: step.window, title: `${isOne ? "" : `${title}: `}${label(step)}${rank}, ${time(step.wall)}${elsewhere(step)}${flaw}` });
    }
  };
  state.selected = null;
  if (state.excerpt !== null) {
    wanted.push({ at: state.excerpt, title: "The longest call, with its neighbors" });
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
  look();
  for (const button of controls.querySelectorAll("[data-kind]")) {
    button.setAttribute("aria-pressed", button.dataset.kind === state.kind);
  }
};
