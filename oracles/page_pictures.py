#!/usr/bin/env python3
"""Takes the pictures of pages in docs/images/page, light and dark, with real Chromium.

    python3 oracles/page_pictures.py --rooflens BIN --xtask XTASK --mock MOCK [--query-path DIR] [--png FOLDER]

Everything in them is made here: a decode trace with a slow layer, the example traces, a fleet of made runs, a load test of
the mock server. `--png` also writes them as PNG, as programs that cannot read WebP want them.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from base64 import b64decode
from pathlib import Path

import slow_layer
from mock_server import MockServer
from rooflens_cli import REPOSITORY, arguments, existing
from served import browser, live
from served.site import Site

FOLDER = REPOSITORY / "docs/images/page"
WIDTH, HEIGHT, NARROW = 1280, 900, 380
SLOW_STEP = 7
# Where a page is looked at: from its top, or from a part of it.
TO_PART = "document.querySelector('{}').scrollIntoView({{block: 'start', behavior: 'instant'}})"
CHARTS = "#ledger"


class Camera:
    """Takes each page in both themes."""

    def __init__(self, chromium, png: Path | None):
        self.chromium, self.png = chromium, png

    def take(self, name: str, address: str, part: str | None = None, before: str | None = None, width: int = WIDTH) -> None:
        for scheme in ("light", "dark"):
            seen = self.chromium.open(address, width, HEIGHT, scheme)
            if seen["complaints"]:
                raise RuntimeError(f"{name}: {seen['complaints']}")
            features = [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]
            self.chromium.call("Emulation.setEmulatedMedia", features=features)
            for expression in (before, part and TO_PART.format(part)):
                if expression:
                    browser.evaluate(self.chromium, expression)
            # Charts that come into view are drawn then.
            time.sleep(1)
            for kind, folder in (("webp", FOLDER), ("png", self.png)):
                if folder:
                    options = {"format": kind, "quality": 82} if kind == "webp" else {"format": kind}
                    data = self.chromium.call("Page.captureScreenshot", **options)["data"]
                    (folder / f"{name}-{scheme}.{kind}").write_bytes(b64decode(data))


def rooflens(binary: Path, *words) -> None:
    done = subprocess.run([str(binary), *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"rooflens {' '.join(map(str, words))}: {done.stderr}")


def pages_of_a_run(camera: Camera, binary: Path, folder: Path) -> None:
    trace = folder / "decode-slow-layer.json"
    slow_layer.make(trace, SLOW_STEP, 11)
    rooflens(binary, "analyze", trace, "-o", folder / "slow", "--quiet")
    page = (folder / "slow/report/index.html").as_uri()
    camera.take("run", page)
    # The bar of the slow step is clicked, so that the tables of what differs are there, too.
    camera.take("timeline", page, "#timeline")
    model = REPOSITORY / "fixtures/configs/tiny-moe.json"
    sample = REPOSITORY / "fixtures/kineto/decode.json"
    rooflens(binary, "analyze", sample, "-o", folder / "modelled", "--model", model, "--hardware", "h100", "--quiet")
    camera.take("charts", (folder / "modelled/report/index.html").as_uri(), CHARTS)
    camera.take("narrow", page, width=NARROW)


def pages_of_a_folder(camera: Camera, options, folder: Path) -> None:
    runs = folder / "runs"
    runs.mkdir()
    rooflens(options.rooflens, "self-test", "--write-example", folder / "example")
    for name in ("decode-eager", "decode-graphs"):
        rooflens(options.rooflens, "analyze", folder / f"example/{name}.json", "-o", runs / name, "--quiet")
    with MockServer(options.mock) as mock:
        rooflens(options.rooflens, "bench", mock.url, "--concurrency", "1,4,16", "--requests", "64", "--input-tokens", "100",
                 "--output-tokens", "64", "-o", runs / "load-test", "--quiet")  # fmt: skip
    going = runs / "being-made"
    (going / "raw/step_0").mkdir(parents=True)
    (going / "plan.json").write_text(json.dumps(live.PLAN))
    (going / "raw/step_0/manifest.json").write_text(json.dumps({"end": "done", "duration_ns": 4_440_000_000}))
    site = Site(options.rooflens, runs)
    try:
        found = {name: address for address, name in site.runs()}
        ids = [found[name].rsplit("/", 1)[1] for name in ("decode-eager", "decode-graphs")]
        camera.take("serve-run", site.address + found["decode-eager"])
        camera.take("serve-load-test", site.address + found["load-test"])
        camera.take("serve-compare", f"{site.address}/compare?run={ids[0]}&run={ids[1]}")
        camera.take("serve-live", site.address + live.address_of(site, "being-made"))
    finally:
        site.stop()


def pages_of_a_store(camera: Camera, options, folder: Path) -> None:
    store = folder / "store"
    command = [options.xtask, "make-fleet", "--store", store, "--runs", "200", "--rows-per-run", "200"]
    subprocess.run([*command, "--truth", folder / "truth.json"], check=True, stdout=subprocess.DEVNULL)
    site = Site(options.rooflens, store, path=options.query_path)
    try:
        camera.take("serve-runs", site.address + "/")
        camera.take("serve-trend", site.address + "/trend?metric=tpot_p50_ns")
        if options.query_path:
            camera.take("serve-query", site.address + "/queries/top-kernels?go=1")
            send = "document.querySelector('textarea').value = 'SELECT model, count(*) AS runs FROM runs GROUP BY model ORDER BY runs DESC'"
            camera.take("serve-sql", site.address + "/sql", before=send)
    finally:
        site.stop()


def main() -> int:
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--xtask", type=existing, required=True, metavar="XTASK", help="makes the store")
    parser.add_argument("--mock", type=existing, required=True, metavar="MOCK", help="the mock server")
    parser.add_argument("--query-path", type=existing, metavar="DIR", help="folder of rooflens-query")
    parser.add_argument("--png", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    for folder in (FOLDER, options.png):
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        chromium = browser.chromium()(folder / "profile")
        try:
            camera = Camera(chromium, options.png)
            pages_of_a_run(camera, options.rooflens, folder)
            pages_of_a_folder(camera, options, folder)
            pages_of_a_store(camera, options, folder)
        finally:
            chromium.close()
    shutil.rmtree(FOLDER / "__pycache__", ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
