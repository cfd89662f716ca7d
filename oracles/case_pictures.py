"""Draws the pictures of docs/case-study-b200-prefill.md from the JSON documents of the traces it is about.

    python3 oracles/case_pictures.py --rooflens target/release/rooflens

`check_case_study.py` draws them again and compares them with those of the page.
"""

import sys
from html import escape
from pathlib import Path

from rooflens_cli import REPOSITORY, analyze, arguments

FOLDER = REPOSITORY / "docs/images/case-b200"
EAGER = "kineto/tracelens/b200/eager_trace.json.gz"
DECODE = "kineto/tracelens/inference/vllm_decode_full"
CAPTURE = f"{DECODE}/capture_traces/graph_capture_rank_0.1773709742341309550.pt.trace.json.gz"
REPLAY = f"{DECODE}/graph_execution.json.gz"
LINES = {
    "floor": ("#2f855a", "floor (lower bound)"), "inefficiency": ("#8fc3a6", "inefficiency"),
    "unneeded": ("#c9b458", "avoidable"), "communication": ("#3b6fb6", "communication"),
    "copies": ("#8a6fb0", "copies"), "launch_bound": ("#d9663d", "idle: launch bound"),
    "cpu_bound": ("#b23a48", "idle: CPU-bound"), "dispatch": ("#a0a8b0", "idle: dispatch"),
}
HOST, DEVICE, BOUND, MEASURED = "#d9663d", "#3b6fb6", "#2f855a", "#8fc3a6"
DARK, GREY, RULE = "#1f2933", "#52606d", "#d9dee4"
WIDTH, LEFT, RIGHT = 720, 190, 90


class Picture:
    """An SVG with a white background, so that it can be read in a dark page, too."""

    def __init__(self, title: str, about: str, height: int):
        self.height = height
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="t d" '
            "font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" font-size=\"13\" "
            f'fill="{DARK}">',
            f'  <title id="t">{escape(title)}</title>', f'  <desc id="d">{escape(about)}</desc>',
            f'  <rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6" fill="#ffffff" '
            f'stroke="{RULE}"/>']

    def rect(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        self.parts.append(f'  <rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height:.1f}" '
                          f'fill="{fill}"/>')

    def text(self, x: float, y: float, words: str, anchor="start", fill=DARK, size=13, weight=400) -> None:
        self.parts.append(f'  <text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" font-size="{size}" '
                          f'font-weight="{weight}">{escape(words)}</text>')

    def axis(self, y: float, top: float, longest: float, step: float, label: str) -> float:
        """A time axis from 0 to the longest, in ms, with its grid; how many pixels a millisecond is."""
        scale = (WIDTH - LEFT - RIGHT) / longest
        for number in range(int(longest / step) + 1):
            x = LEFT + number * step * scale
            self.parts.append(f'  <line x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{y:.1f}" stroke="{RULE}"/>')
            self.text(x, y + 15, f"{number * step:g}", "middle", GREY, 11)
        self.text(LEFT + longest * scale / 2, y + 32, label, "middle", GREY, 12)
        return scale

    def legend(self, y: float, entries: list[tuple[str, str]], wide: float = 165) -> None:
        for at, (fill, words) in enumerate(entries):
            x, row = 20 + at % 4 * wide, y + at // 4 * 20
            self.rect(x, row - 10, 12, 12, fill)
            self.text(x + 17, row, words, fill=GREY, size=12)

    def svg(self) -> str:
        return "\n".join([*self.parts, "</svg>"]) + "\n"


def shown(ms: float) -> str:
    return f"{ms:.1f} ms" if ms >= 10 else f"{ms:.2f} ms" if ms >= 0.1 else f"{ms * 1000:.1f} µs"


def stacked(picture: Picture, y: float, parts: list[tuple[str, float]], scale: float) -> None:
    x = LEFT
    for line, ms in parts:
        picture.rect(x, y, ms * scale, 34, LINES[line][0])
        if ms * scale > 90:
            picture.text(x + ms * scale / 2, y + 22, shown(ms), "middle", DARK if line == "inefficiency" else "#ffffff")
        x += ms * scale
    picture.text(x + 6, y + 22, shown(sum(ms for _, ms in parts)), fill=GREY)


def ledger(eager: dict) -> str:
    """Where the time of the eager step goes: all of it, and the part in which the device works."""
    lines = [(line["line"], line["ns"] / 1e6) for line in eager["ledger"]["phases"][0]["lines"]]
    busy = [(line, ms) for line, ms in lines if line not in ("launch_bound", "cpu_bound", "dispatch")]
    picture = Picture("Time ledger of the eager prefill step", "The device is idle for 86 % of the step.", 302)
    scale = picture.axis(80, 20, 85, 20, "time of the step, ms")
    picture.text(20, 51, "the whole step", weight=600)
    stacked(picture, 30, lines, scale)
    scale = picture.axis(200, 140, 13, 2, "time in which the device works, ms (another scale)")
    picture.text(20, 171, "of it, device at work", weight=600)
    stacked(picture, 150, busy, scale)
    picture.legend(262, [LINES[line] for line, _ in lines])
    return picture.svg()


def host_and_device(eager: dict, capture: dict, replay: dict) -> str:
    """What the host and the device do for a step, launched one by one and replayed."""
    def step(document):
        return next(phase for phase in document["phases"] if phase["role"] == "step" or "capture_" in phase["name"])
    rows = [
        ("eager prefill", "B200", step(eager)["host"]["p50_ns"], step(eager)["device_busy"]["p50_ns"]),
        ("decode, captured", "MI300X, kernel by kernel", step(capture)["host"]["p50_ns"], None),
        ("decode, replayed", "MI300X, one graph launch", step(replay)["host"]["p50_ns"],
         step(replay)["device_busy"]["p50_ns"])]
    picture = Picture("Host and device time of a step", "Without a graph the host takes longer than the device.", 280)
    scale = picture.axis(200, 16, 90, 20, "time per step, ms")
    for at, (name, how, host, device) in enumerate(rows):
        y = 22 + at * 60
        picture.text(20, y + 16, name, weight=600)
        picture.text(20, y + 33, how, fill=GREY, size=12)
        for fill, time, top in ((HOST, host, y), (DEVICE, device, y + 21)):
            if time is None:
                picture.text(LEFT + 6, top + 14, "kernels are recorded into the graph, not run", fill=GREY, size=12)
            else:
                picture.rect(LEFT, top, time / 1e6 * scale, 18, fill)
                picture.text(LEFT + time / 1e6 * scale + 6, top + 14, shown(time / 1e6), fill=GREY, size=12)
    picture.legend(264, [(HOST, "host, with the profiler on"), (DEVICE, "device busy")], 220)
    return picture.svg()


def remaining(eager: dict, replay: dict) -> str:
    """Device time of the model's kernels by class, beside the lower bound."""
    picture = Picture("Kernel time and lower bound by class", "MoE kernels lose most on both devices.", 412)
    panels = (("gpt-oss-120b, prefill, one of 8 B200", eager, 24), ("gpt-oss-20b, decode, MI300X", replay, 200))
    for title, document, y in panels:
        picture.text(20, y + 8, title, weight=600)
        scale = picture.axis(y + 116, y + 16, 10, 2, "time per step, ms")
        classes = [item for item in document["ledger"]["phases"][0]["classes"] if item["achieved"]][:4]
        for at, item in enumerate(classes):
            top, time, bound = y + 22 + at * 24, item["ns"] / 1e6, item["floor_ns"] / 1e6
            picture.text(LEFT - 10, top + 14, item["class"], "end")
            picture.rect(LEFT, top, time * scale, 18, MEASURED)
            picture.rect(LEFT, top, bound * scale, 18, BOUND)
            share = item["achieved"]["roof_share"] * 100
            picture.text(LEFT + time * scale + 6, top + 14, f"{shown(time)}, {share:.1f} % of roof", fill=GREY, size=12)
    picture.legend(394, [(BOUND, "lower bound"), (MEASURED, "measured above it")], 220)
    return picture.svg()


def drawn(binary: Path, corpus: Path) -> dict[str, str]:
    """Each picture by its file name."""
    configs = corpus / "configs"
    eager = analyze(binary, corpus / EAGER, "--model", configs / "openai--gpt-oss-120b.json", "--tp", 8).report()
    replay = analyze(binary, corpus / REPLAY, "--model", configs / "openai--gpt-oss-20b.json").report()
    capture = analyze(binary, corpus / CAPTURE).report()
    return {"ledger.svg": ledger(eager), "host-and-device.svg": host_and_device(eager, capture, replay),
            "remaining.svg": remaining(eager, replay)}


def main() -> int:
    options = arguments(__doc__.splitlines()[0]).parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, svg in drawn(options.rooflens, options.corpus).items():
        (FOLDER / name).write_text(svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
