// Memory and counters: lines over time.
const overTime = (colours) => ({
  type: "value", min: 0, max: "dataMax",
  axisLabel: { color: colours.muted, fontSize: 11, hideOverlap: true, showMaxLabel: false, formatter: (value) => short(time(value)) },
  splitLine: { show: false },
});
const atMoment = (points, at) => {
  let low = 0;
  let high = points.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (points[middle][0] <= at) low = middle;
    else high = middle - 1;
  }
  return points[low];
};

drawers.memory = (data) => {
  const ranks = new Set(data.devices.map((device) => device.rank)).size;
  const name = (device) => `${ranks > 1 ? `rank ${device.rank} ` : ""}${device.device < 0 ? "host" : `device ${device.device}`}`;
  const first = Math.min(...data.devices.map((device) => device.points[0][0]));
  const lines = data.devices.map((device, index) => ({
    device, index, name: name(device), points: device.points.map(([at, held]) => [at - first, held]),
  }));
  const holders = (device) =>
    device.holders.slice(0, 8).map((holder) => [holder.site ?? "allocated before the first event", bytes(holder.bytes)]);
  const peak = ({ device }) => ({
    title: `peak of ${name(device)}`,
    rows: [["allocated", bytes(device.peak_bytes), true], ["reserved", device.reserved_bytes === null ? null : bytes(device.reserved_bytes)], ...holders(device)],
    note: device.holders.length ? null : "The trace does not record who allocates.",
  });
  const option = (colours, state) => {
    const drawn = lines.filter((line) => !state.hidden.has(line.name));
    return {
      grid: { left: 8, right: 20, top: 26, bottom: 8 },
      tooltip: tooltip(colours, {
        trigger: "axis",
        formatter: (points) => {
          const marked = points.find((point) => point.data.tip);
          if (marked) return tipOf(marked.data.tip);
          const at = points[0].axisValue;
          return tipOf({ title: `at ${time(at)}`, rows: drawn.map((line) => [line.name, bytes(atMoment(line.points, at)[1])]) });
        },
      }),
      xAxis: axis(colours, overTime(colours)),
      yAxis: byteAxis(colours, Math.max(1, ...drawn.flatMap(({ device, points }) => [device.peak_bytes ?? 0, ...points.map(([, held]) => held)]))),
      dataZoom: [{ ...ZOOM, xAxisIndex: 0 }],
      series: [
        ...drawn.map((line) => ({
          name: line.name, type: "line", step: "end", symbol: "none", animation: false, data: line.points,
          lineStyle: { width: 1.6, color: colours.nth(line.index) }, itemStyle: { color: colours.nth(line.index) },
          areaStyle: { color: colours.nth(line.index), opacity: drawn.length > 1 ? 0.06 : 0.16 },
        })),
        ...drawn
          .filter(({ device }) => device.peak_bytes !== null && device.peak_ts_ns !== null)
          .map((line, place) => ({
            name: `peak of ${line.name}`, type: "scatter", animation: false, symbol: "diamond", symbolSize: 11, z: 4,
            itemStyle: { color: colours.nth(line.index), borderColor: colours.card },
            label: { show: place === 0, position: "top", formatter: `peak ${bytes(line.device.peak_bytes)}`, color: colours.ink, fontSize: 11, textBorderColor: colours.card, textBorderWidth: 3 },
            data: [{ value: [line.device.peak_ts_ns - first, line.device.peak_bytes], tip: peak(line), weight: line.device.peak_bytes }],
          })),
      ],
    };
  };
  const legend = () => lines.map((line) => ({ name: line.name, text: line.name, index: line.index }));
  return { controls: [], option, legend: lines.length > 1 ? legend : null, height: 250 };
};

drawers.counters = (data) => {
  const controls = [{ key: "subject", label: "Of", values: data.subjects.map((subject, index) => [String(index), `${subject.name}: ${subject.model}`]) }];
  const ROW = 92;
  const chosen = (state) => data.subjects[Number(state.subject)] ?? data.subjects[0];
  const stretchAt = (subject, at) => (subject.throttled ?? []).find((one) => one.from_ns <= at && at < Math.max(one.to_ns, one.from_ns + 1));
  // Throttling as a strip below the levels: 1 while it lasts.
  const strip = (subject, last) => {
    const points = [[0, 0]];
    for (const one of subject.throttled ?? []) points.push([one.from_ns, 0], [one.from_ns, 1], [Math.max(one.to_ns, one.from_ns), 1], [one.to_ns, 0]);
    return [...points, [last, 0]];
  };
  const option = (colours, state) => {
    const subject = chosen(state);
    const last = Math.max(...subject.levels.flatMap((level) => level.points.map(([at]) => at)));
    const hasStrip = subject.throttled !== null;
    const rows = subject.levels.length + (hasStrip ? 1 : 0);
    const grid = (row) => ({ left: 70, right: 20, top: 24 + row * ROW, height: row === subject.levels.length ? 18 : ROW - 40, outerBoundsMode: "none" });
    const upright = (row) => {
      if (row === subject.levels.length) return axis(colours, { gridIndex: row, type: "value", min: 0, max: 1, show: false });
      const level = subject.levels[row];
      const sizes = level.unit === "B" ? byteAxis(colours, Math.max(...level.points.map(([, held]) => held)), 2) : {};
      return axis(colours, {
        ...sizes,
        gridIndex: row, type: "value", splitNumber: 2, scale: level.unit !== "1", ...(level.unit === "1" ? { min: 0, max: 1 } : {}),
        name: level.title, nameLocation: "end", nameGap: 8, nameTextStyle: { color: colours.ink, fontSize: 11, fontWeight: 600, align: "left", padding: [0, 0, 0, -62] },
        axisLabel: { color: colours.muted, fontSize: 11, formatter: (value) => short(inUnit(value, level.unit)) },
      });
    };
    const indexes = [...Array(rows).keys()];
    return {
      grid: indexes.map(grid),
      axisPointer: { link: [{ xAxisIndex: "all" }] },
      tooltip: tooltip(colours, {
        trigger: "axis",
        formatter: (points) => {
          const at = points[0].axisValue;
          const stretch = stretchAt(subject, at);
          return tipOf({
            title: `at ${time(at)}`,
            rows: [
              ...subject.levels.map((level) => [level.title, inUnit(atMoment(level.points, at)[1], level.unit)]),
              ["throttled by", stretch ? stretch.reasons.map(words).join(", ") : hasStrip ? "nothing" : null, Boolean(stretch)],
            ],
          });
        },
      }),
      xAxis: indexes.map((row) => axis(colours, { ...overTime(colours), gridIndex: row, max: last, axisLabel: { ...overTime(colours).axisLabel, show: row === rows - 1 } })),
      yAxis: indexes.map(upright),
      dataZoom: [{ ...ZOOM, xAxisIndex: indexes }],
      series: [
        ...subject.levels.map((level, row) => ({
          name: level.title, type: "line", step: "end", symbol: "none", animation: false, xAxisIndex: row, yAxisIndex: row, data: level.points,
          lineStyle: { width: 1.5, color: colours.nth(row) }, itemStyle: { color: colours.nth(row) }, areaStyle: { color: colours.nth(row), opacity: 0.12 },
        })),
        ...(hasStrip ? [{
          name: "throttled", type: "line", symbol: "none", animation: false, xAxisIndex: rows - 1, yAxisIndex: rows - 1, data: strip(subject, last),
          lineStyle: { width: 0 }, areaStyle: { color: colours.tone("launch_bound"), opacity: 1 }, itemStyle: { color: colours.tone("launch_bound") },
        }] : []),
      ],
    };
  };
  const note = (state) => {
    const { throttled } = chosen(state);
    if (throttled === null) return "Throttling was not sampled.";
    if (throttled.length === 0) return "Clocks were not throttled.";
    return `The strip at the bottom marks throttled clocks: ${[...new Set(throttled.flatMap((one) => one.reasons))].map(words).join(", ")}.`;
  };
  const most = Math.max(...data.subjects.map((subject) => subject.levels.length + (subject.throttled ? 0.6 : 0)));
  return { controls, option, note, height: 40 + ROW * most };
};
