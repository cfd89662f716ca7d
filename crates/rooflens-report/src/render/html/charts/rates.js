// Latency over throughput, and bandwidth over message size.
drawers.latency = (data) => {
  const LINES = [["TTFT p50", "ttft_p50_ns"], ["TTFT p99", "ttft_p99_ns"], ["TPOT p50", "tpot_p50_ns"], ["TPOT p99", "tpot_p99_ns"]]
    .filter(([, key]) => data.levels.filter((level) => level[key] !== null).length > 1);
  const tip = (level) => ({
    title: level.offered,
    rows: [
      ["output tokens/s", level.output_tokens_per_s.toFixed(1)],
      ["per user", level.per_user?.toFixed(1)],
      ...LINES.map(([name, key]) => [name, level[key] === null ? null : time(level[key])]),
      ["failed", level.failed === null ? null : share(level.failed)],
      ["objectives", level.is_met === null ? null : level.is_met ? "met" : "missed", level.is_met === false],
    ],
    note: level.is_valid ? null : "The client was the bottleneck.",
  });
  const option = (colours, state) => ({
    grid: { left: 8, right: 24, top: 14, bottom: 12 },
    xAxis: axis(colours, { type: "value", min: 0, name: "output tokens per second", nameGap: 28 }),
    yAxis: logAxis(colours, decades(LINES.flatMap(([, key]) => data.levels.map((level) => level[key]))), "", time),
    series: LINES.map(([name, key], index) => ({
      name, type: "line", animation: false, symbolSize: 9, symbol: colours.symbol(index),
      lineStyle: { width: 1.8, color: colours.nth(index), type: name.endsWith("p99") ? "dashed" : "solid" }, itemStyle: { color: colours.nth(index) },
      data: data.levels.filter((level) => level[key] !== null).map((level) => ({
        value: [level.output_tokens_per_s, level[key]], tip: tip(level), weight: -index * 1e12 + level.output_tokens_per_s,
        symbol: level.is_valid ? colours.symbol(index) : "emptyCircle",
      })),
    })).filter((one) => !state.hidden.has(one.name)),
  });
  const legend = () => LINES.map(([name], index) => ({ name, text: name, index }));
  return { controls: [], option, legend, height: 330 };
};

drawers.collectives = (data) => {
  const name = (point) => [point.name, point.dtype, point.group_size && `${point.group_size} ranks`].filter(Boolean).join(", ");
  const names = [...new Set(data.points.map(name))];
  const tip = (point) => ({
    title: name(point),
    rows: [
      ["message", bytes(point.bytes)],
      ["calls", whole(point.count)],
      ["median", point.p50_ns === null ? null : time(point.p50_ns)],
      ["bus bandwidth", amount(point.bus_bytes_per_s, "B/s")],
      ["of the links", point.link_share === null ? null : share(point.link_share), true],
      ["waiting for ranks", point.wait_ns === null ? null : time(point.wait_ns), true],
      ["total", point.total_ns === null ? null : time(point.total_ns)],
    ],
  });
  const option = (colours, state) => {
    const rates = data.points.map((point) => point.bus_bytes_per_s);
    const link = data.link && rules(colours, [rule(colours, "links", data.link.bytes_per_s, `links of ${data.link.device} ${short(amount(data.link.bytes_per_s, "B/s"))}`)]);
    const sizes = data.points.map((point) => point.bytes);
    const ends = [2 ** Math.floor(Math.log2(Math.min(...sizes) / 1.5)), 2 ** Math.ceil(Math.log2(Math.max(...sizes) * 1.5))];
    return {
      grid: { left: 8, right: 24, top: 18, bottom: 12 },
      xAxis: logAxis(colours, ends, "message size", bytes, { logBase: 2, nameGap: 28 }),
      yAxis: logAxis(colours, decades([...rates, ...(data.link ? [data.link.bytes_per_s] : [])], 1.1), "", (value) => amount(value, "B/s")),
      series: [
        ...names.map((line, index) => ({
          name: line, type: "line", animation: false, symbol: colours.symbol(index), symbolSize: 10,
          lineStyle: { width: 1.4, color: colours.nth(index) }, itemStyle: { color: colours.nth(index) },
          data: data.points.filter((point) => name(point) === line).sort((a, b) => a.bytes - b.bytes).map((point) => ({
            value: [point.bytes, point.bus_bytes_per_s], tip: tip(point), weight: point.total_ns ?? 0,
          })),
        })).filter((one) => !state.hidden.has(one.name)),
        ...(link ? [{ type: "line", data: [], markLine: link }] : []),
      ],
    };
  };
  const legend = () => names.map((line, index) => ({ name: line, text: line, index }));
  return { controls: [], option, legend, height: 320 };
};
