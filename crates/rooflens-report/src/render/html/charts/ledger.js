// Ledger: a bar per phase, a part per line.
drawers.ledger = (data) => {
  const controls = [{ key: "unit", label: "Length", values: [["share", "share of the phase"], ["time", "time"]] }];
  const label = (phase) => `${phase.phase}  ${time(phase.wall_ns)}`;
  const option = (colours, state) => ({
    grid: { left: 8, right: 20, top: 6, bottom: 8 },
    xAxis: axis(colours, {
      type: "value", max: state.unit === "share" ? 1 : "dataMax",
      axisLabel: { color: colours.muted, fontSize: 11, hideOverlap: true, formatter: (value) => short(state.unit === "share" ? share(value) : time(value)) },
    }),
    yAxis: axis(colours, {
      type: "category", inverse: true, data: data.phases.map(label), splitLine: { show: false },
      axisLabel: { color: colours.ink, fontSize: 12, width: 190, overflow: "truncate" }, axisTick: { show: false },
    }),
    series: data.lines
      .map((line, index) => ({
        name: line.title, type: "bar", stack: "all", barMaxWidth: 30, animation: false,
        itemStyle: { color: colours.tone(line.tone), borderColor: colours.card, borderWidth: 1 },
        data: data.phases.map((phase) => ({
          value: state.unit === "share" ? phase.ns[index] / phase.wall_ns : phase.ns[index],
          weight: phase.ns[index],
          tip: {
            title: `${phase.phase}: ${line.title}`,
            rows: [
              ["time", time(phase.ns[index]), true],
              ["of the phase", share(phase.ns[index] / phase.wall_ns)],
              ["per step", phase.steps ? time(phase.ns[index] / phase.steps) : null],
            ],
            note: line.meaning,
          },
        })),
      }))
      .filter((one) => !state.hidden.has(one.name)),
  });
  const legend = () => data.lines.map((line) => ({ name: line.title, text: line.title, tone: line.tone }));
  return { controls, option, legend, height: 46 + 44 * data.phases.length };
};
