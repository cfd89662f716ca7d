"""Compose the skeleton's conf with hydra-core and with rooflens-compose, and compare.

    python oracles/compose/skeleton_diff.py --binary PATH/compose_view [--pairs 300] [--seed N]

The binary is rooflens-compose's `cargo build --example compose_view`; run this with the venv of hydra-core 1.3.8.
Cases: every option of every group, every command line in a README, a comment or a task, and random combinations of
options. Compared: what `compose_diff.py` compares. No case may fail to compose.
"""
import argparse
import random
import re
import shlex
import sys
import tomllib
import warnings
from pathlib import Path
from types import SimpleNamespace

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode

import compose_diff
from compose_diff import RECORDED, Ours

SKELETON = Path(__file__).resolve().parents[2] / "crates/rooflens-collect/skeleton"
CONF = SKELETON / "conf"


def options():
    found = {}
    for path in sorted(CONF.rglob("*.yaml")):
        group = str(path.parent.relative_to(CONF))
        if group != ".":
            found.setdefault(group, []).append(path.stem)
    return found


def command_lines():
    """The overrides of each `rooflens run` and `rooflens config show` that the skeleton shows."""
    texts = [path.read_text() for path in SKELETON.rglob("*") if path.suffix in (".md", ".yaml")]
    for name, table in (("pixi.toml", lambda it: it), ("pyproject.toml", lambda it: it["tool"]["pixi"])):
        manifest = table(tomllib.loads((SKELETON / name).read_text()))
        tasks = dict(manifest["tasks"])
        for feature in manifest.get("feature", {}).values():
            tasks.update(feature.get("tasks", {}))
        texts += [task["cmd"] for task in tasks.values()]
    pattern = r"^(?:#   )?(rooflens (?:run|config show)(?: .*)?)$"
    for line in (line for text in texts for line in re.findall(pattern, text, re.M)):
        # In comments, an explanation may follow after several blanks.
        words = shlex.split(re.split(r"\s{3,}", line)[0])
        yield [word for word in words if "=" in word], "-m" in words


def keys():
    """The key that chooses an option of each group; a group may be mounted more than once."""
    with initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
        GlobalHydra.instance().config_loader().load_configuration("config", [], RunMode.RUN)
    known = RECORDED[-1].overrides.known_choices
    return [key for key in known if not key.startswith("hydra/") and key != "local"]


def cases(pairs, seed):
    rng = random.Random(seed)
    known = options()
    choices = {key: known[key.split("@")[0]] for key in keys()}
    unmounted = set(known) - {key.split("@")[0] for key in choices}
    # Those of other models are chosen with their model.
    unmounted = {group for group in unmounted if not group.startswith("model/")}
    assert not unmounted, f"no defaults list names {unmounted}"
    yield [], False
    for key, names in choices.items():
        for name in names:
            yield [f"{key}={name}"], False
    yield ["experiment=batch-sweep"], True
    yield from command_lines()
    for _ in range(pairs):
        chosen = rng.sample(sorted(choices), rng.randint(2, 5))
        yield [f"{key}={rng.choice(choices[key])}" for key in chosen], False


def theirs(case):
    with warnings.catch_warnings(), initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
        warnings.simplefilter("error")
        loader = GlobalHydra.instance().config_loader()
        if case.sweeps:
            return compose_diff.multirun(case, loader, [])
        full = loader.load_configuration("config", case.overrides, RunMode.RUN, from_shell=False)
        return compose_diff.view(full, RECORDED[-1], False)


def run(binary, all_cases):
    process = Ours(binary)
    for overrides, multirun in all_cases:
        case = SimpleNamespace(config_name="config", overrides=overrides, sweeps=multirun)
        want, got = theirs(case), process.compose(case, str(CONF))
        found = compose_diff.difference(want, got)
        if found or any(made.get("resolved") is None for made in want.get("jobs", [want])):
            yield overrides, found or "Hydra does not resolve it", got.get("err")
    process.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    all_cases = list(cases(arguments.pairs, arguments.seed))
    found = list(run(arguments.binary, all_cases))
    for difference in found[:5]:
        print(*difference)
    print(f"seed {arguments.seed}: {len(all_cases)} cases, {len(found)} differences")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
