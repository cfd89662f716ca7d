"""Run real Hydra programs and `rooflens config write --hydra` on the same trees, and compare what they leave.

    python oracles/compose/files_diff.py --rooflens PATH/rooflens        (in the venv of hydra-core)

Compared: the folders of runs and sweeps, and every file of `.hydra/` and `multirun.yaml`, to the byte
but for `hydra.help` and `hydra.hydra_help`, whose texts are ours.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "crates/rooflens-compose/tests/fixtures"
APP = """
import hydra, sys

@hydra.main(version_base="1.3", config_path=sys.argv.pop(1), config_name=sys.argv.pop(1))
def app(cfg):
    pass

app()
"""
FOLDERS = ["hydra.run.dir=out/run", "hydra.sweep.dir=out/sweep"]  # without the time of day
CASES = [
    ("pipeline", "config", []),
    ("pipeline", "config", ["hardware=gpu-b", "pipeline.nsys.trace=[cuda]"]),
    ("pipeline", "config", ["hydra.output_subdir=null"]),
    ("pipeline", "config", ["hydra.output_subdir=notes/of run"]),
    ("pipeline", "config", ["hydra.mode=RUN"]),
    ("pipeline", "config", ["hydra.mode=MULTIRUN", "experiment=a,b"]),
    ("pipeline", "config", ["-m", "hydra.mode=RUN", "experiment=a,b"]),
    ("pipeline", "config", ["-m", "experiment='a b',\"c\"", "pipeline.prefill.tokens=range(1,4)"]),
    ("pipeline", "config", ["-m", "experiment=a,b", "hydra.sweep.subdir=${hydra.job.override_dirname}"]),
    ("pipeline", "config", ["-m", "hardware=glob(*)", "hydra.sweeper.max_batch_size=1"]),
    ("pipeline", "config", ["-m", "hydra.sweep.subdir=n/../${hydra.job.num}", "pipeline.nsys.enable=true"]),
    ("training", "train", ["hydra.run.dir=./out/${task_name}/../x"]),
    ("training", "train", ["experiment=example", "hydra.job.chdir=true"]),
    ("training", "train", ["hparams_search=grid"]),
    ("training", "train", ["-m", "trainer.max_epochs=1,2", "model=choice(dense)"]),
    ("training", "eval", ["ckpt_path=/x.ckpt", "trainer=ddp", "hydra.job.name=other"]),
]


def left(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".log" and ".rooflens" not in path.parts:
            found[str(path.relative_to(folder))] = without_help(path.read_text())
    return found


def without_help(text):
    return re.sub(r"(?m)^  (help|hydra_help):\n(    .*\n|\n)+", "", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rooflens", required=True, type=Path)
    binary = parser.parse_args().rooflens.resolve()
    differ = 0
    with tempfile.TemporaryDirectory() as scratch:
        app = Path(scratch) / "app.py"
        app.write_text(APP)
        place = Path(scratch).resolve() / "place"  # the same for both: it stands in hydra.yaml
        for tree, config, overrides in CASES:
            conf = str(FIXTURES / tree)
            chosen = [it for it in FOLDERS if not any(o.startswith(it.split("=")[0] + "=") for o in overrides)]
            both = []
            for command in ([sys.executable, str(app), conf, config], [str(binary), "config", "write", "--hydra", "--config-dir", conf, "--config-name", config]):
                place.mkdir()
                ran = subprocess.run(command + overrides + chosen, cwd=place, capture_output=True, text=True, env={**os.environ, "PROJECT_ROOT": "/p"})
                both.append((ran.returncode == 0, left(place), ran.stderr))
                shutil.rmtree(place)
            (fine, theirs, error), (ours_fine, ours, our_error) = both
            if fine != ours_fine or theirs != ours:
                differ += 1
                print("DIFFERS", tree, overrides, error[-300:], our_error[-300:])
                for name in sorted(theirs.keys() | ours.keys()):
                    if theirs.get(name) != ours.get(name):
                        print("--- Hydra:", name, theirs.get(name), "--- ours:", ours.get(name), sep="\n")
    print(f"{len(CASES)} programs, {differ} differ")
    sys.exit(differ != 0)


if __name__ == "__main__":
    main()
