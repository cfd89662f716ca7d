// Steps: a dot per step in order of start, those beyond p99 stand out.
drawers.steps = (data) => {
  const controls = [{ key: "group", label: "Steps", values: data.groups.map((group, index) => [String(index), group.name]) }];
  const chosen = (state) => data.groups[Number(state.group)] ?? data.groups[0];
  const point = (group, ranks) => (step) => ({
    value: [step.number, step.ns],
    weight: step.ns,
    tip: {
      title: `step ${step.number}${ranks > 1 ? ` of rank ${step.rank}` : ""}`,
      rows: [
        ["duration", time(step.ns)],
        ["above the median", group.p50_ns === null ? null : `${time(Math.max(0, step.ns - group.p50_ns))}`, true],
        ["starts at", step.ts_ns === null ? null : `${(step.ts_ns / 1e9).toFixed(6)} s`],
      ],
      note: "Click to open it in the timeline.",
    },
    show: {
      kind: "step", number: step.number, rank: step.rank, ts_ns: step.ts_ns, dur_ns: step.ns,
      group: group.name, phase: group.phase,
    },
  });
  // Steps are much alike: names of ticks have as many digits as tell them apart.
  const named = (steps) => {
    const all = steps.map((step) => step.ns);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const [unit, scale] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]].find((one) => high >= one[1]) ?? ["ns", 1];
    const digits = Math.min(6, Math.max(0, Math.ceil(-Math.log10(Math.max(high - low, 1) / 5 / scale))));
    return (value) => `${(value / scale).toFixed(digits)} ${unit}`;
  };
  const ranksOf = (group) => [...new Set(group.points.map((step) => step.rank))].sort((a, b) => a - b);
  const option = (colours, state) => {
    const group = chosen(state);
    const ranks = ranksOf(group);
    const limit = group.p99_ns ?? Infinity;
    const dots = group.points.map(point(group, ranks.length));
    const dot = (name, colour, symbol, size, kept) => ({
      name, type: "scatter", animation: false, symbol, symbolSize: size, large: true, largeThreshold: 300,
      itemStyle: { color: colour, opacity: 0.75 }, data: dots.filter(({ value }) => kept(value[1])),
    });
    const numbers = group.points.map((step) => step.number);
    // Several ranks are told apart by colour, as far as there are colours.
    const series = ranks.length > 1
      ? ranks.map((rank, index) => ({
        ...dot(`rank ${rank}`, colours.nth(index), colours.symbol(index), 7, () => true),
        data: dots.filter((_, at) => group.points[at].rank === rank),
      })).filter((one) => !state.hidden.has(one.name))
      : [
        dot("steps", colours.tone("plain"), "circle", 6, (ns) => ns <= limit),
        dot("beyond p99", colours.tone("launch_bound"), "diamond", 11, (ns) => ns > limit),
      ];
    const lines = [["p50", group.p50_ns], ["p99", group.p99_ns]].filter(([, ns]) => ns !== null);
    return {
      grid: { left: 8, right: 16, top: 14, bottom: 10 },
      xAxis: axis(colours, { type: "value", min: Math.min(...numbers), max: Math.max(...numbers, numbers[0] + 1), minInterval: 1, name: "step", nameGap: 26, splitLine: { show: false } }),
      yAxis: axis(colours, { type: "value", scale: true, axisLabel: { color: colours.muted, fontSize: 11, formatter: named(group.points) } }),
      dataZoom: [{ ...ZOOM, xAxisIndex: 0 }],
      series: [
        ...series,
        { type: "scatter", data: [], markLine: rules(colours, lines.map(([name, ns]) => rule(colours, name, ns, `${name} ${time(ns)}`))) },
      ],
    };
  };
  const note = (state) => {
    const group = chosen(state);
    const flawed = group.flawed > 0 ? ` ${group.flawed} disturbed by the recording are left out.` : "";
    const sampled = group.is_sampled ? ` ${whole(group.points.length)} of them, evenly sampled.` : "";
    const ranks = ranksOf(group).length;
    return `${whole(group.count)} steps${ranks > 1 ? ` of ${ranks} ranks` : ""}, ${group.timeline === "device" ? "span on the device" : "duration on the host"}.${sampled}${flawed}`;
  };
  const legend = (state) => {
    const ranks = ranksOf(chosen(state));
    return ranks.length > 1 ? ranks.map((rank, index) => ({ name: `rank ${rank}`, text: `rank ${rank}`, index })) : [];
  };
  return { controls, option, legend, note, height: 260 };
};
