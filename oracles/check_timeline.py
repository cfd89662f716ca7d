"""The timeline of the page, in a real browser: rows lead to the right nanosecond and back, and it is quick.

Rows of kernels are clicked with a mouse, and what the timeline then shows is held against the trace's own JSON; a
planted slow layer is found by clicks alone. `--large` judges times: loading, frames while moving, filtering.
"""

import json
import random
import re
import time
from pathlib import Path

from chromium import Browser, chromium
import kineto_truth
from oracle import main, must, option

DATA_LIMIT = 2_000_000
ROWS = 10
CLICKS = 10
OVERLAPPING = ("trace_diff/test", "trace_diff/control", "trace_filter")
SELECTED = "JSON.stringify(rooflensTimeline.selected())"
# Moves the view for a second and a half and counts frames; the longest counts too.
FRAMES = """new Promise((done) => {
  const times = []; const begin = performance.now();
  const frame = (now) => {
    times.push(now);
    rooflensTimeline.span.from += rooflensTimeline.span.length * 0.01;
    rooflensTimeline.redraw();
    if (now - begin < 1500) requestAnimationFrame(frame);
    else done(JSON.stringify({frames: times.length - 1, ms: times.at(-1) - times[0]}));
  };
  requestAnimationFrame(frame);
})"""
FILTER = """(() => {
  const input = document.querySelector('#kernels .tools input, #operators .tools input');
  if (!input) return 'null';
  const begin = performance.now();
  input.value = 'gemm'; input.dispatchEvent(new Event('input'));
  document.body.getBoundingClientRect();
  const took = performance.now() - begin;
  input.value = ''; input.dispatchEvent(new Event('input'));
  return JSON.stringify(took);
})()"""


LAYERS, STEPS = 16, 12
KERNELS = [
    ("void vllm::rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)", 3.0),
    ("nvjet_tst_64x8_64x16_4x1_v_bz_TNN", 11.0),
    ("void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>(Flash_fwd_params)", 7.0),
    ("nvjet_tst_128x8_64x12_2x1_v_bz_TNT", 14.0),
]


def make_slow(path: Path, step: int, layer: int, seed: int = 7) -> None:
    """Twelve steps of sixteen layers; kernels of `layer` take four times as long in `step`."""
    draw = random.Random(seed)
    events, correlation, now = [], 0, 1_000.0
    for number in range(STEPS):
        begin, host, device = now, now + 5, now + 60
        for at in range(LAYERS):
            first = host
            for name, mean in KERNELS:
                correlation += 1
                slow = 4 if (number, at) == (step, layer) else 1
                dur = round(mean * draw.uniform(0.97, 1.03) * slow, 3)
                launch = {"External id": correlation, "correlation": correlation}
                events.append(slice_of("cpu_op", "aten::mm", 1, host, 4.0, {"External id": correlation}))
                events.append(slice_of("cuda_runtime", "cudaLaunchKernel", 1, host + 1, 2.0, launch))
                events.append(slice_of("kernel", name, 7, device, dur, launch | {"device": 0, "stream": 7}, pid=0))
                host, device = host + 5, device + dur + 0.6
            module = {"Python id": number * 100 + at, "Python module id": at}
            name = f"nn.Module: LlamaDecoderLayer_{at}"
            events.append(slice_of("python_function", name, 1, first - 0.5, host - first, module))
        events.append(slice_of("user_annotation", f"ProfilerStep#{number}", 1, begin, device - begin + 2, {}))
        now = device + 10
    top = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": events}
    path.write_text(json.dumps(top))


def slice_of(category, name, tid, ts, dur, args, pid=1):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": round(ts, 3),
            "dur": round(dur, 3), "args": args}  # fmt: skip


class Page:
    def __init__(self, browser: Browser, path: Path, width: int = 1400):
        self.browser, self.clicks = browser, 0
        begin = time.monotonic()
        self.seen = browser.open(path.as_uri(), width, 1000, "light")
        self.load_s = time.monotonic() - begin
        # A page that still scrolls is clicked at the wrong place.
        browser.emulate(prefers_color_scheme="light", prefers_reduced_motion="reduce")
        self.value, self.json, self.complaints = browser.evaluate, browser.json, browser.complaints

    def click(self, element: str, x: float = 0.5):
        """A click of the mouse on what an expression of JavaScript finds, `x` of its width from the left."""
        self.clicks += 1
        self.value(f"{element}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.json(f"JSON.stringify({element}.getBoundingClientRect())")
        at = {"x": box["x"] + box["width"] * x, "y": box["y"] + box["height"] / 2}
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)


def analyzed(binary, trace: Path, folder: Path, *options) -> Path:
    must(binary, "analyze", trace, "-o", folder, "--quiet", *options)
    return folder / "report" / "index.html"


def data_bytes(page: Path) -> int:
    found = re.search(r'id="timeline-data">(.*?)</script>', page.read_text(), re.S)
    return len(found.group(1).encode()) if found else 0


def longest_calls(traces) -> dict[str, tuple[int, int]]:
    """The longest activity of each name: the first of equal ones. Times count from the first event of all."""
    first = min(trace.base_ns + trace.first_ns for trace in traces)
    found: dict[str, tuple[int, int]] = {}
    for trace in traces:
        for one in trace.activities:
            start = one.start_ns + trace.base_ns - first
            known = found.get(one.name)
            if known is None or (one.dur_ns, -start) > (known[1], -known[0]):
                found[one.name] = (start, one.dur_ns)
    return found


def rows_and_back(page: Path, browser: Browser, trace: Path, draw: random.Random) -> list[str]:
    """Clicks rows of kernels: the timeline must select their longest call, and lead back to the same row."""
    wrong = []
    opened = Page(browser, page)
    if (size := data_bytes(page)) > DATA_LIMIT or size == 0:
        wrong.append(f"{size:,} bytes of data")
    wrong += [f"asks for {url[:60]}" for url in opened.seen["asked"]]
    truth = longest_calls([kineto_truth.load(trace)])
    names = opened.json("""JSON.stringify([...document.querySelectorAll('#kernels tbody[data-place^="kernel "]')]
      .map((body) => body.dataset.place))""")
    if not names:
        return [*wrong, "no row of a kernel has a place"]
    for place in draw.sample(names, min(ROWS, len(names))):
        body = f"document.querySelector('#kernels tbody[data-place=\"{place}\"]')"
        opened.value(f"{body}.closest('table').classList.remove('short')")
        opened.click(f"{body}.querySelector('.tl-go')")
        selected = opened.json(SELECTED)
        if selected is None:
            wrong.append(f"{place}: nothing is selected")
            continue
        name = selected["name"]
        head, _, tail = name.partition("…")
        fits = [of for of in truth if of == name or ("…" in name and of.startswith(head) and of.endswith(tail))]
        there = (int(selected["start_ns"]), selected["dur_ns"])
        if not any(truth[of] == there for of in fits):
            wrong.append(f"{name[:60]}: at {there}, in the trace at {[truth[of] for of in fits][:3]}")
        opened.click("document.querySelector('.tl-ways button')")
        back = opened.value("document.querySelector('tbody.found')?.dataset.place")
        if back != place:
            wrong.append(f"{place} leads back to {back}")
    return wrong + opened.complaints()


def slow_layer_is_found(binary, browser: Browser, folder: Path, draw: random.Random) -> list[str]:
    step, layer = draw.randrange(STEPS), draw.randrange(LAYERS)
    trace = folder / "slow.json"
    make_slow(trace, step, layer, draw.randrange(1000))
    page = Page(browser, analyzed(binary, trace, folder / "slow"))
    page.click("document.querySelector('.tl-steps')", (step + 0.5) / STEPS)
    sentence = page.value("document.querySelector('.tl-sentence').textContent")
    found = page.value("document.querySelector('.tl-difference .tl-find').textContent")
    page.click("document.querySelector('.tl-difference .tl-find')")
    selected = page.json(SELECTED)
    wrong = []
    if not sentence.startswith(f"Step {step} takes "):
        wrong.append(f"step {step} was clicked, the page says {sentence!r}")
    if found != f"layer {layer}":
        wrong.append(f"layer {layer} of step {step} is slow, the page says {found!r}")
    if not selected or selected["kind"] != "layers":
        wrong.append(f"the layer is not shown: {selected}")
    if page.clicks >= CLICKS:
        wrong.append(f"{page.clicks} clicks")
    return wrong + page.complaints()


def sums_of_steps(run_folder: Path) -> list[str]:
    """No line of a step is negative, and all of them are no more than the step."""
    drawn = json.loads((run_folder / "report/timeline.json").read_text())["timeline"]
    wrong = []
    for step in drawn["steps"]:
        least = min([*step["lines"], *step["classes"], *step["layers"], step["before_ns"]])
        if least < 0:
            wrong.append(f"step {step['index']}: {least:,} ns")
        room = (step["end_ns"] - step["start_ns"]) * step["devices"]
        if sum(step["lines"]) > room:
            wrong.append(f"step {step['index']}: lines of {sum(step['lines']):,} ns in {room:,} ns")
    return wrong


def quick(binary, browser: Browser, trace: Path, folder: Path) -> list[str]:
    path = analyzed(binary, trace, folder / "large")
    page = Page(browser, path)
    moved = page.json(FRAMES)
    rate = 1000 * moved["frames"] / moved["ms"]
    filtered = page.json(FILTER)
    size, data = path.stat().st_size, data_bytes(path)
    print(f"     {trace.name}: page {size / 1e6:.2f} MB, data {data / 1e6:.2f} MB, loaded in {page.load_s:.2f} s, "
          f"{rate:.0f} frames/s, filter {filtered:.1f} ms")  # fmt: skip
    wrong = [f"{data:,} bytes of data"] if data > DATA_LIMIT else []
    wrong += [f"loads in {page.load_s:.2f} s"] if page.load_s > 2 else []
    wrong += [f"{rate:.0f} frames/s"] if rate < 30 else []
    wrong += [f"filter takes {filtered:.0f} ms"] if filtered and filtered > 100 else []
    return wrong + page.complaints()


def accessible(binary, browser: Browser, trace: Path, folder: Path, axe: Path) -> list[str]:
    """What axe calls serious or critical, in light and dark, wide and narrow; and whether a narrow page fits."""
    path = analyzed(binary, trace, folder / "axe")
    wrong = []
    for width, scheme in ((1400, "light"), (1400, "dark"), (380, "light")):
        seen = browser.open(path.as_uri(), width, 1000, scheme)
        wrong += [f"{width} {scheme}: {line}" for line in browser.serious(axe)]
        wrong += [f"{width}: wider than the window by {seen['over']} pixels"] if seen["over"] > 0 else []
    if len(browser.printed_bytes()) < 15_000:
        wrong.append("almost nothing is printed")
    return wrong


def check_all(judge, args, folder: Path) -> None:
    draw, kineto = random.Random(18), args.corpus / "kineto"
    tracelens = kineto / "tracelens"
    traces = [tracelens / "b200/eager_trace.json.gz", *sorted((tracelens / "inference").glob("*/*.json.gz"))[:3]]
    with chromium(folder) as browser:
        for at, trace in enumerate(traces):
            page = analyzed(args.rooflens, trace, folder / f"run{at}")
            judge.check(f"rows lead to their place and back: {trace.parent.name}", rows_and_back(page, browser, trace, draw))
            judge.check(f"steps are sums of what is in them: {trace.parent.name}", sums_of_steps(folder / f"run{at}"))
        # Steps that overlap each other, on many streams, and of several ranks.
        for at, name in enumerate(OVERLAPPING):
            analyzed(args.rooflens, kineto / "hta" / name, folder / f"overlapping{at}")
            judge.check(f"steps are sums of what is in them: {name}", sums_of_steps(folder / f"overlapping{at}"))
        judge.check("a slow layer is found by clicks", slow_layer_is_found(args.rooflens, browser, folder, draw))
        if args.axe:
            judge.check("pages are accessible", accessible(args.rooflens, browser, folder / "slow.json", folder, args.axe))
        if args.large:
            judge.check("a large trace is quick", quick(args.rooflens, browser, args.large, folder))


if __name__ == "__main__":
    large = option("--large", type=Path, metavar="TRACE", help="judge times on this trace")
    main(check_all, large, option("--axe", type=Path, metavar="FILE", help="axe.min.js: judge accessibility"))
