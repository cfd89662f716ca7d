#!/usr/bin/env python3
"""Change points of `rooflens trend` beside those of Apache Otava: the same, on Otava's own samples and on random series."""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from otava.analysis import TTestSignificanceTester, compute_change_points

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


def ours(rooflens, folder, series, window, max_p, min_change):
    path = Path(folder) / "series.csv"
    path.write_text("value\n" + "\n".join(map(repr, series)) + "\n")
    command = [rooflens, "trend", "--csv", path, "--key", "value", "--format", "json", "--window", str(window)]
    command += ["--max-p", repr(max_p), "--min-change", repr(min_change * 100)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["change_points"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rooflens", required=True)
    parser.add_argument("--random", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    cases = [(f"sample {i}", series, 50, 0.001, 0.0) for i, series in enumerate(SAMPLES)]
    for i in range(options.random):
        # A change is given in percent, so by a number that a hundredth of is exact again.
        cases.append((f"random {i}", random_series(draw), draw.choice([10, 30, 50]), draw.choice([0.0001, 0.001, 0.01]), draw.choice([0.0, 0.03125])))
    points = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, series, window, max_p, min_change in cases:
            theirs = compute_change_points(list(series), window_len=window, max_pvalue=max_p, min_magnitude=min_change)[0]
            found = ours(options.rooflens, folder, series, window, max_p, min_change)
            expected = [int(point.index) for point in theirs]
            points += len(expected)
            if [point["index"] for point in found] != expected:
                wrong += 1
                print(f"{name}: {[point['index'] for point in found]}, Otava {expected}")
                continue
            # Means and p-values are of all values up to the neighbours; Otava may keep older ones of a point
            # whose right neighbour was removed, so its own test is asked once more.
            edges = [0, *expected, len(series)]
            for i, point in enumerate(found):
                left, right = series[edges[i] : edges[i + 1]], series[edges[i + 1] : edges[i + 2]]
                stats = TTestSignificanceTester(max_p).compare(left, right)
                close = lambda a, b: abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-300
                if not (close(point["before"], stats.mean_1) and close(point["after"], stats.mean_2) and close(point["p"], stats.pvalue)):
                    wrong += 1
                    print(f"{name} at {point['index']}: {point}, Otava {stats}")
    print(f"{len(cases)} series, {points} change points, {wrong} differ")
    return 1 if wrong or points == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
