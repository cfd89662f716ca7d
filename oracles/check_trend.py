"""Change points of `rooflens trend` against those of Apache Otava: the same, on Otava's own samples and on random series."""

import random
from pathlib import Path

from otava.analysis import TTestSignificanceTester, compute_change_points

from oracle import main, must, option

# The first three are of Otava's own tests (tests/analysis_test.py, tests/series_test.py); then steps without noise,
# a step from near zero, a plateau.
SAMPLES = [
    [1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96, 0.50, 0.51, 0.48, 0.48, 0.55, 0.50, 0.49, 0.51, 0.50, 0.49],
    [1.02, 0.95, 0.99, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55],
    [2.02, 2.03, 2.01, 2.04, 1.82, 1.85, 1.79, 1.81, 1.80, 1.76, 1.78],
    [10.0] * 20 + [12.0] * 20 + [10.0] * 20,
    [0.0, 0.1, 0.0, 0.1, 0.0, 0.1, 5.0, 5.1, 5.0, 5.1, 5.0, 5.1],
    [0.1] * 60,
]


def random_series(draw):
    series = []
    for _ in range(draw.randint(1, 5)):
        level = draw.choice([1, 10, 1e6]) * draw.uniform(0.9, 1.1)
        noise = draw.choice([0, 0.005, 0.01, 0.05])
        series += [level * (1 + draw.gauss(0, noise)) for _ in range(draw.randint(1, 60))]
    return series


def ours(rooflens, folder: Path, series, window, max_p, min_change):
    path = folder / "series.csv"
    path.write_text("value\n" + "\n".join(map(repr, series)) + "\n")
    limits = ["--window", window, "--max-p", repr(max_p), "--min-change", repr(min_change * 100)]
    return must(rooflens, "trend", "--csv", path, "--key", "value", "--format", "json", *limits).report()["change_points"]


def near(a, b) -> bool:
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-300


def differing(series, found, expected, max_p):
    if [point["index"] for point in found] != expected:
        yield f"{[point['index'] for point in found]}, Otava {expected}"
        return
    # Means and p-values are of all values up to the neighbors; Otava may keep older ones of a point whose right neighbor
    # was removed, so its own test is asked once more.
    edges = [0, *expected, len(series)]
    for i, point in enumerate(found):
        left, right = series[edges[i] : edges[i + 1]], series[edges[i + 1] : edges[i + 2]]
        stats = TTestSignificanceTester(max_p).compare(left, right)
        pairs = ((point["before"], stats.mean_1), (point["after"], stats.mean_2), (point["p"], stats.pvalue))
        if not all(near(*pair) for pair in pairs):
            yield f"at {point['index']}: {point}, Otava {stats}"


def check_all(judge, args, folder: Path) -> None:
    draw = random.Random(args.seed)
    cases = [(series, 50, 0.001, 0.0) for series in SAMPLES]
    for _ in range(args.random):
        # A change is given in percent, so by a number that a hundredth of is exact again.
        limits = draw.choice([10, 30, 50]), draw.choice([0.0001, 0.001, 0.01]), draw.choice([0.0, 0.03125])
        cases.append((random_series(draw), *limits))
    points = 0
    for number, (series, window, max_p, min_change) in enumerate(cases):
        theirs = compute_change_points(list(series), window_len=window, max_pvalue=max_p, min_magnitude=min_change)[0]
        expected = [int(point.index) for point in theirs]
        points += len(expected)
        if wrong := list(differing(series, ours(args.rooflens, folder, series, window, max_p, min_change), expected, max_p)):
            judge.check(f"series {number}", wrong)
    judge.check(f"{len(cases)} series", [] if points else ["no change points"], f"{points} change points")


if __name__ == "__main__":
    main(check_all, option("--random", type=int, default=100), option("--seed", type=int, default=1))
