// Layers: lost time (all time, where no lower bound is known) by layer and class of kernel.
drawers.layers = (data) => {
  const controls = [{ key: "phase", label: "Phase", values: data.phases.map((phase) => [phase.phase, words(phase.phase)]) }];
  const chosen = (state) => data.phases.find((phase) => phase.phase === state.phase) ?? data.phases[0];
  const value = (cell) => cell.ns - (cell.floor_ns ?? 0);
  const tip = (cell, phase) => ({
    title: `layer ${cell.layer}: ${words(cell.class)}`,
    rows: [
      ["time", time(cell.ns)],
      ["lower bound", cell.floor_ns === null ? null : time(cell.floor_ns)],
      ["lost", cell.floor_ns === null ? null : `${time(value(cell))}, ${share(value(cell) / cell.ns)} of it`, true],
      ["per step", phase.steps ? time(cell.ns / phase.steps) : null],
    ],
    note: cell.floor_ns === null ? "No lower bound is known: all time is shown." : null,
  });
  // One hue, from the page's own ground to the darkest (on a dark page the lightest): told apart by any eye.
  const shades = (colours) =>
    matchMedia("(prefers-color-scheme: dark)").matches ? [colours.soft, "#2f5f8f", "#9ad2f3"] : [colours.soft, "#8fb6dc", "#123f73"];
  const most = (state) => Math.max(1, ...chosen(state).cells.map(value));
  const option = (colours, state) => {
    const phase = chosen(state);
    return {
      grid: { left: 8, right: 16, top: 6, bottom: 8 },
      xAxis: axis(colours, { type: "category", data: phase.layers, name: "layer", nameGap: 26, splitLine: { show: false }, axisTick: { show: false } }),
      yAxis: axis(colours, {
        type: "category", inverse: true, data: phase.classes.map(words), splitLine: { show: false }, axisTick: { show: false },
        axisLabel: { color: colours.ink, fontSize: 12, width: 150, overflow: "truncate", interval: 0 },
      }),
      visualMap: { type: "continuous", show: false, min: 0, max: most(state), hoverLink: false, inRange: { color: shades(colours) } },
      series: [{
        type: "heatmap", animation: false, itemStyle: { borderColor: colours.card, borderWidth: phase.layers.length > 100 ? 0 : 1 },
        emphasis: { itemStyle: { borderColor: colours.ink, borderWidth: 1.5 } },
        data: phase.cells.map((cell) => ({
          value: [phase.layers.indexOf(cell.layer), phase.classes.indexOf(cell.class), value(cell)],
          weight: value(cell), tip: tip(cell, phase),
          show: { kind: "layer", layer: cell.layer, class: cell.class, phase: phase.phase },
        })),
      }],
    };
  };
  const tallest = Math.max(...data.phases.map((phase) => phase.classes.length));
  const scale = (colours, state) => [`${data.has_floor ? "lost" : "time"} 0`, shades(colours), time(most(state))];
  const note = (state) => {
    const phase = chosen(state);
    const steps = phase.steps > 1 ? `Sum over ${whole(phase.steps)} steps. ` : "";
    const what = data.has_floor ? ": kernels in layers that do operators of the model" : " is in a layer";
    return `${steps}${share(phase.covered)} of the kernel time${what}.`;
  };
  return { controls, option, scale, note, height: 60 + 28 * tallest };
};
