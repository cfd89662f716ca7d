"""Boxes of grounding answers in a real browser: each lies on what the picture shows there.

Pictures with a bright rectangle, in every orientation of EXIF, are answered about by a program in place of the
interpreter; `rooflens run` writes the pages. Chromium is asked where the bright pixels of the upright picture are and
where the box is: both must be where this file says, computed by hand.
"""

import json
import struct
from pathlib import Path

from chromium import chromium
from oracle import main, must, run

# The stored picture, and the bright rectangle in it: left, top, right, bottom, in whole blocks of 8 pixels.
WIDTH, HEIGHT = 400, 200
BRIGHT = (80, 40, 200, 120)
# The same rectangle in the upright picture, by orientation.
UPRIGHT = {
    1: (80, 40, 200, 120),
    2: (200, 40, 320, 120),
    3: (200, 80, 320, 160),
    4: (80, 80, 200, 160),
    5: (40, 80, 120, 200),
    6: (80, 80, 160, 200),
    7: (80, 200, 160, 320),
    8: (40, 200, 120, 320),
}
# An answer is in parts of 999, a screen in whole pixels.
TOLERANCE = 1.0
LOOK = """(async () => {
  const found = [];
  for (const img of document.querySelectorAll('.boxed img')) {
    await img.decode();
    const canvas = document.createElement('canvas');
    const [w, h] = [canvas.width, canvas.height] = [img.naturalWidth, img.naturalHeight];
    const pen = canvas.getContext('2d');
    pen.drawImage(img, 0, 0);
    const data = pen.getImageData(0, 0, w, h).data;
    const bright = [w, h, 0, 0];
    for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) if (data[4 * (y * w + x)] > 128) {
      bright[0] = Math.min(bright[0], x); bright[1] = Math.min(bright[1], y);
      bright[2] = Math.max(bright[2], x + 1); bright[3] = Math.max(bright[3], y + 1);
    }
    const frame = img.getBoundingClientRect();
    const boxes = [...img.parentElement.querySelectorAll('rect[data-box]')].map(box => {
      const at = box.getBoundingClientRect();
      const x = value => (value - frame.left) * w / frame.width, y = value => (value - frame.top) * h / frame.height;
      return [x(at.left), y(at.top), x(at.right), y(at.bottom)];
    });
    const figure = img.closest('figure') || img.closest('section');
    const name = (figure.querySelector('figcaption a') || figure.querySelector('h2')).textContent;
    found.push({name, size: [w, h], shown: [frame.width, frame.height], bright, boxes});
  }
  return JSON.stringify(found);
})()"""


def jpeg(orientation: int) -> bytes:
    """A grey picture with the bright rectangle, by hand: of each block only its mean is coded."""
    tiff = b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x0112, 3, 1, orientation, 0, 0)
    segments = [
        (0xE1, b"Exif\0\0" + tiff),
        (0xDB, bytes([0, 64] + [1] * 63)),
        (0xC0, struct.pack(">BHHBBBB", 8, HEIGHT, WIDTH, 1, 1, 0x11, 0)),
        # Means: a difference of no bits is 0, of four bits 10, of five 110. All else: a block ends at once.
        (0xC4, bytes([0x00, 1, 1, 1] + [0] * 13 + [0, 4, 5])),
        (0xC4, bytes([0x10, 1] + [0] * 15 + [0])),
        (0xDA, bytes([1, 1, 0x00, 0, 63, 0])),
    ]
    bits, before = "", 0
    left, top, right, bottom = BRIGHT
    for y in range(0, HEIGHT, 8):
        for x in range(0, WIDTH, 8):
            mean = 8 if left <= x < right and top <= y < bottom else -8
            difference, before = mean - before, mean
            length = abs(difference).bit_length()
            value = difference if difference > 0 else difference + (1 << length) - 1
            bits += {0: "0", 4: "10", 5: "110"}[length] + (format(value, f"0{length}b") if length else "") + "0"
    bits += "1" * (-len(bits) % 8)
    scan = bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8)).replace(b"\xff", b"\xff\0")
    parts = [bytes([0xFF, kind]) + struct.pack(">H", len(data) + 2) + data for kind, data in segments]
    return b"\xff\xd8" + b"".join(parts) + scan + b"\xff\xd9"


def det(*boxes: tuple) -> str:
    return f"<|ref|>bright<|/ref|><|det|>{json.dumps(boxes)}<|/det|>\n# A picture"


def parts(box: tuple, width: int, height: int) -> list:
    return [round(999 * value / side) for value, side in zip(box, (width, height, width, height))]


def cases() -> list[tuple[str, int, dict, list[tuple]]]:
    """Name, orientation, the line of predictions.jsonl, and the boxes that are to be seen."""
    found = []
    for orientation, upright in UPRIGHT.items():
        width, height = (WIDTH, HEIGHT) if orientation < 5 else (HEIGHT, WIDTH)
        record = {"width": width, "height": height, "orientation": orientation, "exif_transposed": True}
        line = {"answer": det(parts(upright, width, height)), "picture": record}
        found.append((f"upright-{orientation}.jpg", orientation, line, [upright]))
        # A model that was given the pixels as they are stored.
        line = {"answer": det(parts(BRIGHT, WIDTH, HEIGHT))}
        found.append((f"stored-{orientation}.jpg", orientation, line, [upright]))
    over = det((-500, 500, 1500, 2000), (1200, 0, 1300, 10), (900, 999, 100, 0), (5, 5, 5, 5))
    record = {"width": WIDTH, "height": HEIGHT, "exif_transposed": True}
    expected = [(0, 100.1, 400, 200), (40, 0, 360.4, 200)]
    found.append(("out-of-range.jpg", 1, {"answer": over, "picture": record}, expected))
    return found


def make(binary: Path, folder: Path) -> Path:
    must(binary, "init", folder / "p", "--quiet")
    pictures = folder / "p/datasets/pictures"
    pictures.mkdir()
    lines = []
    for name, orientation, line, _ in cases():
        (pictures / name).write_bytes(jpeg(orientation))
        lines.append(json.dumps({"round": 0, "sample": name, "prompt": "<image>", "tokens": 9, **line}))
    (folder / "predictions.jsonl").write_text("\n".join(lines) + "\n")
    program = folder / "p/answer.sh"
    program.write_text(
        "#!/bin/sh\nout=$(dirname \"$3\")\n"
        "echo '{\"event\":\"model\",\"t_ns\":1,\"architecture\":\"DeepseekOCRForCausalLM\"}' > \"$out/events.jsonl\"\n"
        "echo 'kind,phase,decode_tokens,dur_ns' > \"$out/steps.csv\"\n"
        "touch \"$out/requests.jsonl\" \"$out/tokens.jsonl\"\n"
        f"cp '{folder}/predictions.jsonl' \"$out/\"\n"
    )
    program.chmod(0o755)
    arguments = [
        "run", "runtime.python=./answer.sh", "pipeline.torch_profiler.enable=false",
        "pipeline.static_analysis.enable=false", "pipeline.direct_inference.enable=true", "dataset.kind=image",
        "dataset.root=datasets/pictures", "dataset.patterns=['*.jpg']",
    ]  # fmt: skip
    done = run(binary, *arguments, cwd=folder / "p")
    reports = list((folder / "p/runs").glob("*/*/*/report"))
    if len(reports) != 1 or not (reports[0] / "predictions.html").is_file():
        raise RuntimeError(f"no page: {done.stderr}")
    return reports[0]


def near(have: list, want: tuple) -> bool:
    return len(have) == 4 and all(abs(a - b) <= TOLERANCE for a, b in zip(have, want))


def wrong(seen: list[dict]):
    by_name = {row["name"]: row for row in seen}
    for name, orientation, _, expected in cases():
        row = by_name.get(name)
        if row is None:
            yield f"{name}: no boxes over it"
            continue
        size = [WIDTH, HEIGHT] if orientation < 5 else [HEIGHT, WIDTH]
        if row["size"] != size:
            yield f"{name}: the browser shows {row['size']}, upright is {size}"
        if not near(row["bright"], UPRIGHT[orientation]):
            yield f"{name}: bright at {row['bright']}, expected {UPRIGHT[orientation]}"
        if len(row["boxes"]) != len(expected) or not all(map(near, row["boxes"], expected)):
            yield f"{name}: boxes at {row['boxes']}, expected {expected}"


def look(browser, address: str, width: int):
    seen = browser.open(address, width, 900, "light")
    yield from wrong(browser.json(LOOK))
    yield from seen["complaints"]
    yield from (f"asks for {url}" for url in seen["asked"])
    if seen["over"] > 0:
        yield f"wider than the window by {seen['over']} pixels"


def check_all(judge, args, folder: Path) -> None:
    report = make(args.rooflens, folder)
    with chromium(folder) as browser:
        for page in ("predictions.html", "thumbnails.html"):
            for width in (1280, 390):
                judge.check(f"{page} {width} wide: {len(cases())} pictures", look(browser, (report / page).as_uri(), width))


if __name__ == "__main__":
    main(check_all)
