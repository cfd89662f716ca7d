"""Charts as files: pictures have their size and are not empty, specifications compile in the real Vega-Lite, pages
draw in a real browser.

vl-convert ships Vega and Vega-Lite; what they make of a specification is looked into, not only whether it compiles.
"""

import json
import struct
import zlib
from pathlib import Path

import vl_convert

from chromium import Browser, chromium
from mock_server import MockServer
from oracle import FIXTURES, main, must, needs, said

SIZES = {"page": (1600, None), "slide": (1920, 1080), "column": (2100, None), "columns": (4200, None)}
# A chart that is drawn has more than axes.
LEAST_MARKS = 8
LEAST_IN_VEGA = 2
DRAWN = """(async () => {
  const figure = document.querySelector('figure.living');
  for (let turn = 0; turn < 200 && !figure.querySelector('.chart-canvas svg'); turn += 1) {
    await new Promise(done => setTimeout(done, 25));
  }
  return figure.querySelectorAll('.chart-canvas svg :is(path, rect, text)').length;
})()"""


def pixels(png: bytes):
    """Width, height and the share of bytes that differ from their left neighbour's, of an RGBA file."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert (depth, kind) == (8, 6), (depth, kind)
    data, at = b"", 8
    while at < len(png):
        length, name = struct.unpack(">I4s", png[at : at + 8])
        data += png[at + 8 : at + 8 + length] if name == b"IDAT" else b""
        at += 12 + length
    # Rows hold differences: most of an empty picture's are zero.
    raw = zlib.decompress(data)
    return width, height, 1 - raw.count(0) / len(raw)


def marks(scene) -> int:
    if isinstance(scene, list):
        return sum(marks(one) for one in scene)
    if not isinstance(scene, dict):
        return 0
    is_data = str(scene.get("role", "")).startswith("mark") and scene.get("marktype") != "group"
    own = len(scene.get("items", [])) if is_data else 0
    return own + sum(marks(value) for value in scene.values())


class Charts:
    def __init__(self, args, folder: Path, browser: Browser):
        self.args, self.folder, self.browser, self.drawn = args, folder, browser, 0

    def run(self, *words):
        return must(self.args.rooflens, *words)

    def load_test(self) -> Path:
        out = self.folder / "load"
        with MockServer(self.args.mock, "--itl-ms", 2) as server:
            lengths = ["--input-tokens", 30, "--output-tokens", 8]
            self.run("bench", server.url, "--model", "mock", "--concurrency", "1,2,4", "--requests", 24, *lengths, "-o", out)
        return out

    def inputs(self):
        """Each input, with the words that it needs and the charts that it must have."""
        corpus = self.args.corpus
        sglang = corpus / "kineto/tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz"
        qwen = ["--model", corpus / "configs/Qwen--Qwen3-8B.json", "--hardware", "amd-mi300x"]
        self.run("self-test", "--write-example", self.folder / "example")
        self.run("analyze", self.folder / "example/decode-eager.json", "-o", self.folder / "eager")
        made = FIXTURES / "kineto/decode.json"
        return [
            (self.folder / "eager", [], {"ledger", "steps"}),
            (made, [], {"ledger", "roofline", "layers", "memory", "collectives"}),
            (sglang, qwen, {"ledger", "roofline", "layers"}),
            (self.load_test(), [], {"latency"}),
        ]

    def written(self, words: list, name: str, ending: str, *more) -> Path:
        path = self.folder / f"chart.{ending}"
        self.run("plot", *words, "--chart", name, "-o", path, *more)
        return path

    def check(self, words: list, name: str):
        pictures = [(size, theme) for theme in ("light", "dark") for size in SIZES]
        # Charts take turns: drawing each in every size takes minutes.
        size, theme = pictures[self.drawn % len(pictures)]
        width, height = SIZES[size]
        found = pixels(self.written(words, name, "png", "--size", size, "--theme", theme).read_bytes())
        if found[0] != width or found[1] != (height or found[1]) or not 0.001 < found[2] < 0.5:
            yield f"a picture for {size}, {theme}, has {found}"
        self.drawn += 1
        spec = json.loads(self.written(words, name, "vl.json", "--theme", "dark").read_text())
        scene = vl_convert.vegalite_to_scenegraph(spec)
        if (count := marks(json.loads(scene) if isinstance(scene, str) else scene)) < LEAST_IN_VEGA:
            yield f"Vega draws {count} marks"
        seen = self.browser.open(self.written(words, name, "html").as_uri(), 1000, 800, "light")
        yield from seen["complaints"] + seen["asked"]
        if (count := self.browser.evaluate(DRAWN)) < LEAST_MARKS:
            yield f"a page with {count} marks"


def check_all(judge, args, folder: Path) -> None:
    with chromium(folder) as browser:
        charts = Charts(args, folder, browser)
        for path, more, wanted in charts.inputs():
            document = json.loads(said(args.rooflens, "plot", path, *more, "--format", "json"))
            found = {chart["name"] for chart in document["charts"]}
            judge.check(f"charts of {path.name}", [f"no {name}: {document['missing']}" for name in wanted - found])
            for chart in sorted(wanted & found):
                judge.check(f"{chart} of {path.name}", charts.check([path, *more], chart))


if __name__ == "__main__":
    main(check_all, needs("--mock"))
