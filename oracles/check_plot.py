"""Charts as files: pictures have their size and are not empty, specifications compile in the real Vega-Lite, pages
draw in a real browser.

    python3 oracles/check_plot.py --rooflens target/release/rooflens --mock target/release/rooflens-mock-server

vl-convert ships Vega and Vega-Lite; what they make of a specification is looked into, not only whether it compiles.
"""

import json
import struct
import sys
import tempfile
import zlib
from pathlib import Path

import rooflens_cli
import vl_convert
from chromium import Browser, evaluate
from mock_server import MockServer

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
    """Marks of a Vega scene graph that stand for data."""
    if isinstance(scene, list):
        return sum(marks(one) for one in scene)
    if not isinstance(scene, dict):
        return 0
    is_data = str(scene.get("role", "")).startswith("mark") and scene.get("marktype") != "group"
    own = len(scene.get("items", [])) if is_data else 0
    return own + sum(marks(value) for value in scene.values())


class Checker:
    def __init__(self, options, folder: Path, browser: Browser):
        self.options, self.folder, self.browser = options, folder, browser
        self.wrong, self.seen = [], 0

    def run(self, *words) -> bytes:
        return rooflens_cli.must(self.options.rooflens, *words).stdout

    def load_test(self) -> Path:
        out = self.folder / "load"
        with MockServer(self.options.mock, "--itl-ms", 2) as server:
            lengths = ["--input-tokens", 30, "--output-tokens", 8]
            self.run("bench", server.url, "--model", "mock", "--concurrency", "1,2,4", "--requests", 24, *lengths, "-o", out)
        return out

    def inputs(self):
        """Each input, with the words that it needs and the charts that it must have."""
        corpus = self.options.corpus
        sglang = corpus / "kineto/tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz"
        qwen = ["--model", corpus / "configs/Qwen--Qwen3-8B.json", "--hardware", "amd-mi300x"]
        self.run("self-test", "--write-example", self.folder / "example")
        self.run("analyze", self.folder / "example/decode-eager.json", "-o", self.folder / "eager")
        made = rooflens_cli.REPOSITORY / "fixtures/kineto/decode.json"
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

    def picture(self, words: list, name: str, size: str, theme: str):
        width, height = SIZES[size]
        found = pixels(self.written(words, name, "png", "--size", size, "--theme", theme).read_bytes())
        if found[0] != width or found[1] != (height or found[1]) or not 0.001 < found[2] < 0.5:
            self.wrong.append(f"{name}: a picture for {size}, {theme}, has {found}")

    def specification(self, words: list, name: str):
        spec = json.loads(self.written(words, name, "vl.json", "--theme", "dark").read_text())
        scene = vl_convert.vegalite_to_scenegraph(spec)
        count = marks(json.loads(scene) if isinstance(scene, str) else scene)
        if count < LEAST_IN_VEGA:
            self.wrong.append(f"{name}: Vega draws {count} marks")

    def page(self, words: list, name: str):
        address = self.written(words, name, "html").as_uri()
        seen = self.browser.open(address, 1000, 800, "light")
        asked = [url for url in seen["asked"] if url != address and not url.startswith("data:")]
        self.wrong += [f"{name}: {said}" for said in seen["complaints"] + asked]
        if (count := evaluate(self.browser, DRAWN)) < LEAST_MARKS:
            self.wrong.append(f"{name}: a page with {count} marks")

    def check(self, words: list, name: str):
        pictures = [(size, theme) for theme in ("light", "dark") for size in SIZES]
        if not self.options.all_pictures:
            # Charts take turns: drawing each in every size takes minutes.
            pictures = [pictures[self.seen % len(pictures)]]
        for size, theme in pictures:
            self.picture(words, name, size, theme)
        self.specification(words, name)
        self.page(words, name)
        self.seen += 1

    def all(self):
        for path, more, wanted in self.inputs():
            document = json.loads(self.run("plot", path, *more, "--format", "json"))
            charts = {chart["name"] for chart in document["charts"]}
            if not wanted <= charts:
                self.wrong.append(f"{path.name} has no {wanted - charts}: {document['missing']}")
            for chart in sorted(wanted & charts):
                self.check([path, *more], chart)


def main() -> int:
    parser = rooflens_cli.arguments(__doc__)
    parser.add_argument("--mock", type=rooflens_cli.existing, required=True, metavar="BIN")
    parser.add_argument("--all-pictures", action="store_true", help="draw each chart in every size and theme")
    options = parser.parse_args()
    # A helper of the browser that is being killed may still write its profile while the folder is removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        browser = Browser(Path(name) / "profile")
        try:
            checker = Checker(options, Path(name).resolve(), browser)
            checker.all()
        finally:
            browser.close()
    print(*checker.wrong, sep="\n")
    print(f"{checker.seen} charts as pictures, specifications and pages: {len(checker.wrong)} mistakes")
    return 1 if checker.wrong or not checker.seen else 0


if __name__ == "__main__":
    sys.exit(main())
