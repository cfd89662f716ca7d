// Hands what is drawn to the Perfetto UI, in its documented way: a window is opened, and gets the trace by message
// once it answers. Nothing happens before the click.
const PERFETTO = "https://ui.perfetto.dev";
const traceOfWindows = () => {
  const events = [];
  const us = (start, at) => Number(BigInt(start) - first + BigInt(at)) / 1000;
  const first = data.windows.reduce((low, one) => (BigInt(one.start) < low ? BigInt(one.start) : low), BigInt(data.windows[0].start));
  const tracks = new Map();
  for (const window of data.windows.filter((window) => window.step !== undefined)) {
    const before = new Map();
    for (const lane of window.lanes) {
      const pid = window.rank + 1;
      // Lanes of one title are tracks of their own.
      const same = before.get(lane.title) ?? 0;
      before.set(lane.title, same + 1);
      const key = `${pid} ${same} ${lane.title}`;
      if (!tracks.has(key)) {
        tracks.set(key, tracks.size + 1);
        events.push({ ph: "M", name: "thread_name", pid, tid: tracks.get(key), args: { name: lane.title } });
      }
      const tid = tracks.get(key);
      for (let at = 0; at < lane.at.length; at += 1) {
        const args = {};
        if (lane.layer?.[at] >= 0) args.layer = lane.layer[at];
        if (lane.operator?.[at] >= 0) args.operator = fullName(lane.operator[at]);
        if (lane.wait?.[at] >= 0) args.wait_ns = lane.wait[at];
        const name = lane.kind === "layers" || lane.kind === "idle" ? laneText(lane, at) : fullName(lane.what[at]);
        events.push({ ph: "X", pid, tid, name, ts: us(window.start, lane.at[at]), dur: lane.dur[at] / 1000, args });
      }
    }
  }
  return new TextEncoder().encode(JSON.stringify({ displayTimeUnit: "ns", traceEvents: events })).buffer;
};
const openPerfetto = () => {
  const other = window.open(PERFETTO);
  if (!other) return;
  const ask = setInterval(() => other.postMessage("PING", PERFETTO), 50);
  const answered = (event) => {
    if (event.origin !== PERFETTO || event.data !== "PONG") return;
    clearInterval(ask);
    removeEventListener("message", answered);
    other.postMessage({ perfetto: { buffer: traceOfWindows(), title: document.title, keepApiOpen: true } }, PERFETTO);
  };
  addEventListener("message", answered);
  setTimeout(() => clearInterval(ask), 60_000);
};
