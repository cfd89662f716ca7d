"""The HTML report in a real browser: pages of several widths, light and dark, and their interactive charts.

A page draws, makes no request, and reports no error. Every chart must draw, follow the color scheme, answer
filters, send its clicks on, be reached by keys, and give way to its still picture in print.
"""

from pathlib import Path

from chromium import Browser, chromium
from oracle import FIXTURES, main, must

LOOKS = [(1280, 900, "light"), (1280, 900, "dark"), (1400, 900, "light"), (1920, 1080, "light"), (380, 800, "light")]
# A window from this width on has room for every cell of every table.
ROOMY = 1400
# A chart that is drawn has more than axes and a frame.
LEAST_MARKS = 8

# Scrolls to each chart, waits until it is drawn, and says what it looks like.
DRAWN = """(async () => {
  const out = [];
  for (const figure of document.querySelectorAll('figure.living')) {
    figure.scrollIntoView({behavior: 'instant'});
    for (let turn = 0; turn < 200 && !figure.querySelector('.chart-canvas svg'); turn += 1) {
      await new Promise(done => setTimeout(done, 25));
    }
    const svg = figure.querySelector('.chart-canvas svg');
    const canvas = figure.querySelector('.chart-canvas');
    out.push({
      name: figure.dataset.chart,
      marks: svg ? svg.querySelectorAll('path, rect, text').length : 0,
      fits: Boolean(canvas) && canvas.scrollWidth <= canvas.clientWidth + 1,
      still: getComputedStyle(figure.querySelector('.still')).display,
      label: figure.querySelector('.live')?.getAttribute('aria-label') ?? '',
      ink: svg ? [...new Set([...svg.querySelectorAll('text')].map(t => t.getAttribute('fill')))].sort().join() : '',
    });
  }
  return JSON.stringify(out);
})()"""

# Chooses every value of every control.
FILTERED = """(() => {
  for (const select of document.querySelectorAll('.chart-tools select')) {
    for (const option of [...select.options, select.options[0]].slice(0, 40)) {
      select.value = option.value;
      select.dispatchEvent(new Event('change'));
    }
  }
})()"""

# Goes to the first point of each chart by keys and presses Enter there.
KEYS = """(() => {
  const shown = [];
  const listen = event => shown.push(event.detail);
  document.addEventListener('rooflens:show', listen);
  const said = [];
  for (const frame of document.querySelectorAll('.live')) {
    const press = key => frame.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
    press('ArrowRight');
    said.push([frame.closest('figure').dataset.chart, document.querySelector('p.hidden[aria-live=polite]').textContent]);
    press('Enter');
    press('Escape');
  }
  document.removeEventListener('rooflens:show', listen);
  return JSON.stringify({said, shown});
})()"""

PRINTED = """JSON.stringify([...document.querySelectorAll('figure.living')].map(figure => ({
  name: figure.dataset.chart,
  still: getComputedStyle(figure.querySelector('.still')).display,
  live: figure.querySelector('.live') ? getComputedStyle(figure.querySelector('.live')).display : 'none',
})))"""

LISTENED = {"steps": "step", "layers": "layer"}


def page_problems(seen: dict, width: int):
    yield from (f"asks for {url[:80]}" for url in seen["asked"])
    yield from (f"id {name!r} stands twice" for name in seen["twice"])
    yield from (f"a link leads to #{name}, which is not there" for name in seen["nowhere"])
    if seen["sections"] < 5 or len(seen["headings"]) < 5:
        yield f"only {seen['sections']} sections: {seen['headings']}"
    if seen["text"] < 500:
        yield f"only {seen['text']} characters can be seen"
    if width >= ROOMY:
        yield from (f"table {table} pixels wider than its place" for table in seen["clipped"])
    if seen["dashes"]:
        yield f"begins with {seen['dashes']} numbers that were not measured"
    if seen["over"] > 0:
        yield f"wider than the window by {seen['over']} pixels"


def chart_problems(browser: Browser, scheme: str, charts: list):
    for chart in charts:
        if chart["marks"] < LEAST_MARKS:
            yield f"{chart['name']} has {chart['marks']} marks only"
        if not chart["fits"] or chart["still"] != "none" or not chart["label"]:
            yield f"{chart['name']} does not fit, shows its still picture too, or has no label: {chart}"
    browser.evaluate(FILTERED)
    keys, names = browser.json(KEYS), {chart["name"] for chart in charts}
    yield from (f"no point of {name} is reached by keys" for name, said in keys["said"] if not said and name != "counters")
    kinds = {detail["kind"] for detail in keys["shown"]}
    yield from (f"Enter in {name} shows no {kind}" for name, kind in LISTENED.items() if name in names and kind not in kinds)
    yield from turned(browser, scheme, charts)
    yield from printed(browser)


def turned(browser: Browser, scheme: str, charts: list):
    """Charts take the colors of the other scheme when it changes."""
    browser.emulate(prefers_color_scheme="dark" if scheme == "light" else "light")
    browser.evaluate("new Promise(done => setTimeout(done, 200))")
    after = {chart["name"]: chart["ink"] for chart in browser.json(DRAWN)}
    browser.emulate(prefers_color_scheme=scheme)
    yield from (f"{one['name']} keeps its colors when the scheme changes" for one in charts if after[one["name"]] == one["ink"])


def printed(browser: Browser):
    """On paper the still pictures stand in place of the charts."""
    browser.emulate(media="print")
    found = browser.json(PRINTED)
    browser.emulate()
    yield from (f"in print {one}" for one in found if one["still"] == "none" or one["live"] != "none")
    pdf = browser.printed_bytes()
    if not pdf.startswith(b"%PDF") or len(pdf) < 20_000:
        yield f"the PDF has {len(pdf)} bytes"


def look(browser: Browser, address: str, width: int, height: int, scheme: str, has_charts: bool):
    seen = browser.open(address, width, height, scheme)
    yield from page_problems(seen, width)
    charts = browser.json(DRAWN) if has_charts else []
    if has_charts:
        yield from chart_problems(browser, scheme, charts) if charts else ["no chart"]
    yield from browser.complaints()


def check_all(judge, args, folder: Path) -> None:
    corpus = args.corpus / "kineto"
    model = ["--model", args.corpus / "configs/Qwen--Qwen3-8B.json", "--hardware", "amd-mi300x"]
    sglang = corpus / "tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz"
    traces = {
        FIXTURES / "kineto/decode.json": ["--hardware", "amd-mi300x"],
        FIXTURES / "kineto/two_ranks": [],
        corpus / "tracelens/b200/eager_trace.json.gz": [],
        corpus / "cpu_llama/llama8x512_nostack.json.gz": [],
        sglang: model,
    }
    with chromium(folder) as browser:
        for number, (trace, words) in enumerate(traces.items()):
            run = folder / f"run{number}"
            must(args.rooflens, "analyze", trace, "-o", run, "--quiet", *words)
            for width, height, scheme in LOOKS:
                # Charts answer the same at every width with room for them; tables with a model are wider.
                if words is model and width > 1280:
                    continue
                has_charts = bool(words) and width <= 1280
                found = look(browser, (run / "report/index.html").as_uri(), width, height, scheme, has_charts)
                judge.check(f"{trace.name} {width} {scheme}", found)


if __name__ == "__main__":
    main(check_all)
