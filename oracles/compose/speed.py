"""Compose a tree of fifteen groups with hydra-core and with rooflens, turn by turn, and compare the times.

    python oracles/compose/speed.py --rooflens PATH/rooflens --library PATH/compose_speed    (release builds)

Whole processes, as a user starts them, and compositions within one process. Fails where a composition
takes Rooflens 5 ms or more.
"""
import argparse
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

CONF = Path(__file__).resolve().parents[2] / "crates/rooflens-compose/tests/fixtures/pipeline"
APP = f"""
import hydra
@hydra.main(version_base="1.3", config_path={str(CONF)!r}, config_name="config")
def app(cfg): pass
app()
"""
LIMIT_MS = 5


def milliseconds(work):
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1e3


def hydra_once():
    with initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
        OmegaConf.to_yaml(compose("config"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rooflens", required=True)
    parser.add_argument("--library", required=True)
    paths = parser.parse_args()
    hydra_once()
    times = {name: [] for name in ("hydra", "hydra process", "rooflens", "rooflens process")}
    for _ in range(5):
        times["hydra"].append(milliseconds(hydra_once))
        printed = subprocess.run([paths.library], check=True, capture_output=True, text=True).stdout
        times["rooflens"].append(float(re.search(r"median ([\d.]+) ms", printed)[1]))
        for name, command in (
            ("hydra process", [sys.executable, "-c", APP, "--cfg", "job"]),
            ("rooflens process", [paths.rooflens, "config", "show", "--config-dir", str(CONF)]),
        ):
            times[name].append(milliseconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)))
    median = {name: statistics.median(values) for name, values in times.items()}
    print(f"a composition: rooflens {median['rooflens']:.2f} ms, Hydra {median['hydra']:.0f} ms ({median['hydra'] / median['rooflens']:.0f} times as long)")
    print(f"as a command:  rooflens {median['rooflens process']:.1f} ms, Hydra {median['hydra process']:.0f} ms ({median['hydra process'] / median['rooflens process']:.0f} times as long)")
    sys.exit(f"over {LIMIT_MS} ms" if median["rooflens"] >= LIMIT_MS else 0)


if __name__ == "__main__":
    main()
