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
      : step.excluded ? colours["--idle"] : step.window === undefined ? colours["--other"] : colours["--muted"];
    context.fillRect(at * bar, STRIP - height, Math.max(bar - (bar > 4 ? 1 : 0), 0.6), height);
  });
  context.fillStyle = colours["--muted"];
  context.font = FONT;
  context.textBaseline = "top";
  const rank = data.ranks > 1 ? ` of rank ${data.windows[0]?.rank ?? 0}` : "";
  const pale = of.some((step) => step.window === undefined) ? "; of the lighter ones this page has sums only" : "";
  clipped(context, `${of.length} steps${rank}, longest ${time(longest)}${pale}`, 2, 0, width - 4);
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
  if (step) showTip(event, `${label(step)}: ${time(step.wall)}${step.excluded ? `, ${flawOf(step)}` : ""}`);
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
