// Roofline: roofs of the device, a dot per operator, kernel or layer; filters by phase, class and layer.
drawers.roofline = (data) => {
  const GRAINS = { operator: "operators", kernel: "kernels", layer: "layers" };
  const distinct = (values) => [...new Set(values.filter((value) => value !== null && value !== undefined))];
  const grains = Object.keys(GRAINS).filter((grain) => data.points.some((point) => point.grain === grain));
  const classes = distinct(data.points.map((point) => point.class));
  // A kernel that calls of several precisions share has none of its own.
  const named = data.model ? classes : classes.filter((name) => name !== "kernel");
  const layers = distinct(data.points.map((point) => point.layer)).sort((a, b) => a - b);
  const phases = distinct(data.points.map((point) => point.phase));
  const ends = {
    x: decades([...data.points.map((point) => point.flops / point.bytes), ...ridges()], 2),
    y: decades([...data.points.map((point) => (point.flops * 1e9) / point.ns), ...data.peaks.map((peak) => peak.flops_per_s)]),
  };
  const total = Object.fromEntries(grains.map((grain) => [grain, sum(data.points.filter((point) => point.grain === grain))]));

  function ridges() {
    return data.bytes_per_s ? data.peaks.map((peak) => peak.flops_per_s / data.bytes_per_s) : [];
  }
  function sum(points) {
    return points.reduce((all, point) => all + point.ns, 0);
  }

  const controls = [
    { key: "grain", label: "Points", values: grains.map((grain) => [grain, GRAINS[grain]]) },
    { key: "phase", label: "Phase", all: true, values: phases.map((phase) => [phase, words(phase)]) },
    { key: "class", label: data.model ? "Class" : "Precision", all: true, values: named.map((name) => [name, words(name)]) },
    { key: "layer", label: "Layer", all: true, values: layers.map((layer) => [String(layer), String(layer)]) },
  ];

  // Only layers have a layer.
  const settle = (state, key) => {
    if (key === "layer" && state.layer !== "") state.grain = "layer";
    if (state.grain !== "layer") state.layer = "";
  };
  const offered = (state) => ({
    class: new Set(data.points.filter((point) => point.grain === state.grain).map((point) => point.class)),
  });
  const chosen = (state) =>
    data.points.filter(
      (point) =>
        point.grain === state.grain &&
        (state.phase === "" || point.phase === state.phase) &&
        (state.class === "" || point.class === state.class) &&
        (state.layer === "" || String(point.layer) === state.layer),
    );

  const tip = (point) => {
    const lost = point.floor_ns === null ? null : point.ns - point.floor_ns;
    return {
      title: point.name,
      rows: [
        ["phase", point.phase && words(point.phase)],
        [data.model ? "class" : "precision", words(point.class)],
        ["executions", point.count && whole(point.count)],
        ["time", time(point.ns)],
        ["lower bound", point.floor_ns === null ? null : time(point.floor_ns)],
        ["lost", lost === null ? null : `${time(lost)}, ${share(lost / point.ns)} of its time`, true],
        ["achieved", amount((point.flops * 1e9) / point.ns, "FLOP/s")],
        ["bandwidth", amount((point.bytes * 1e9) / point.ns, "B/s")],
        ["intensity", amount(point.flops / point.bytes, "FLOP/B")],
        ["limit", point.limit],
      ],
      note: point.floor_ns === null ? "No lower bound: peaks of the device are not known." : null,
    };
  };

  const detail = (point) => {
    if (point.grain === "layer") return { kind: "layer", layer: point.layer, class: point.class, phase: point.phase };
    if (point.grain === "kernel") return { kind: "kernel", name: point.full_name, short_name: point.name, phase: point.phase };
    return null;
  };

  // The slope up to the highest ridge, and a level roof per precision.
  const roofs = (colours) => {
    if (!data.bytes_per_s || data.peaks.length === 0) return [];
    const line = (points, isUsed, label) => ({
      type: "line", silent: true, z: 1, animation: false, clip: true,
      lineStyle: { color: isUsed ? colours.ink : colours.muted, width: isUsed ? 1.6 : 1, type: isUsed ? "solid" : "dashed" },
      data: points.map((value, index) => ({
        value,
        // Only what has a symbol has a label.
        symbol: index === points.length - 1 ? "circle" : "none", symbolSize: 0.1,
        label: {
          show: index === points.length - 1, position: "left", align: "right", verticalAlign: "bottom", offset: [0, -8],
          formatter: label, color: isUsed ? colours.ink : colours.muted, fontSize: 11,
          textBorderColor: colours.card, textBorderWidth: 3,
        },
      })),
    });
    const top = data.peaks[0].flops_per_s;
    const slope = [[ends.x[0], data.bytes_per_s * ends.x[0]], [top / data.bytes_per_s, top]];
    const levels = data.peaks.map((peak) =>
      line(
        [[peak.flops_per_s / data.bytes_per_s, peak.flops_per_s], [ends.x[1], peak.flops_per_s]],
        peak.is_used,
        `${peak.precision} ${short(amount(peak.flops_per_s, "FLOP/s"))}`,
      ),
    );
    return [{ ...line(slope, true, ""), name: "memory" }, ...levels];
  };

  const option = (colours, state) => {
    const points = chosen(state);
    const whole = Object.values(total).reduce((most, ns) => Math.max(most, ns), 1);
    const size = (point) => 7 + 32 * Math.sqrt(point.ns / (total[point.grain] || whole));
    const series = classes
      .map((name, index) => ({
        name, type: "scatter", z: 3, animation: false,
        symbol: colours.symbol(index),
        itemStyle: { color: colours.nth(index), opacity: 0.78, borderColor: colours.card, borderWidth: 1 },
        emphasis: { itemStyle: { opacity: 1, borderColor: colours.ink } },
        data: points
          .filter((point) => point.class === name && !state.hidden.has(name))
          .map((point) => ({
            value: [point.flops / point.bytes, (point.flops * 1e9) / point.ns],
            symbolSize: size(point), tip: tip(point), show: detail(point), weight: point.ns,
          })),
      }))
      .filter((one) => one.data.length > 0);
    return {
      grid: { left: 16, right: 24, top: 14, bottom: 12 },
      xAxis: logAxis(colours, ends.x, "arithmetic intensity", (value) => amount(value, "FLOP/B"), { nameGap: 28 }),
      yAxis: logAxis(colours, ends.y, "", (value) => amount(value, "FLOP/s")),
      dataZoom: [{ ...ZOOM, xAxisIndex: 0 }, { ...ZOOM, yAxisIndex: 0 }],
      series: [...series, ...roofs(colours)],
    };
  };

  const legend = (state) => {
    const present = new Set(chosen(state).map((point) => point.class));
    return classes.map((name, index) => ({ name, text: words(name), index })).filter(({ name }) => present.has(name));
  };
  const note = (state) => {
    const points = chosen(state);
    const lost = points.reduce((all, point) => all + (point.floor_ns === null ? 0 : point.ns - point.floor_ns), 0);
    const known = points.some((point) => point.floor_ns !== null);
    return `${whole(points.length)} shown, ${time(sum(points))}${known ? `, of which ${time(lost)} is above the lower bound` : ""}. Area: time.`;
  };
  return { controls, settle, offered, option, legend, note, height: 430 };
};
