"""Compose the skeleton's conf with hydra-core and with rooflens-compose, and compare.

    python oracles/compose/skeleton_diff.py --binary PATH/compose_view [--pairs 300] [--seed N] [--plant]

The binary is rooflens-compose's `cargo build --example compose_view`; run this with the venv of
hydra-core 1.3.8. Cases: every option of every group, every command line in a README, a comment or
a task, and random combinations of options. Compared: the YAML of the job and of the hydra node,
the resolved YAML, the defaults list and the choices; for sweeps, the jobs and the YAML of each.
No case may fail to compose. `--plant` has the binary make mistakes and fails unless one is noticed.
"""
import argparse
import copy
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

from hydra import initialize_config_dir
from hydra._internal import config_loader_impl
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import OmegaConf, open_dict

SKELETON = Path(__file__).resolve().parents[2] / "crates/rooflens-project/skeleton"
CONF = SKELETON / "conf"
DEFAULTS = []


def record(create):
    """Keeps the defaults list of each composition: Hydra itself throws it away."""
    def recording(**arguments):
        DEFAULTS.append(create(**arguments))
        return DEFAULTS[-1]
    return recording


config_loader_impl.create_defaults_list = record(config_loader_impl.create_defaults_list)


def options():
    """The options of each group."""
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
    known = DEFAULTS[-1].overrides.known_choices
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


def view(full, defaults):
    job = copy.deepcopy(full)
    with open_dict(job):
        del job["hydra"]
    HydraConfig.instance().set_config(full)
    result = {
        "job": OmegaConf.to_yaml(job),
        "hydra": OmegaConf.to_yaml(Hydra.get_sanitized_hydra_cfg(full)),
        "defaults": [[d.config_path, d.package, d.is_self, d.parent, d.primary] for d in defaults.defaults],
        "choices": [[key, value] for key, value in defaults.overrides.known_choices.items()],
    }
    OmegaConf.resolve(job)
    result["resolved"] = OmegaConf.to_yaml(job)
    return result


def theirs(overrides, multirun):
    with warnings.catch_warnings(), initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
        warnings.simplefilter("error")
        loader = GlobalHydra.instance().config_loader()
        if not multirun:
            full = loader.load_configuration("config", overrides, RunMode.RUN, from_shell=False)
            return [view(full, DEFAULTS[-1])]
        master = loader.load_configuration("config", overrides, RunMode.MULTIRUN)
        sweeper = master.hydra.sweeper
        arguments = [f"{key}={value}" for key, value in (sweeper.params or {}).items()]
        arguments += OmegaConf.to_container(master.hydra.overrides.task, resolve=False)
        parsed = OverridesParser.create(config_loader=loader).parse_overrides(arguments)
        jobs = [job for batch in BasicSweeper.split_arguments(parsed, sweeper.max_batch_size) for job in batch]
        made = []
        # The binary shows the first four.
        for number, job in enumerate(jobs[:4]):
            config = loader.load_sweep_config(master, list(job))
            with open_dict(config):
                config.hydra.job.id = config.hydra.job.num = number
            made.append({"overrides": list(job), **view(config, DEFAULTS[-1])})
        return made


def ours(child, overrides, multirun):
    question = {"dir": str(CONF), "config": "config", "overrides": overrides, "multirun": multirun}
    child.stdin.write(json.dumps(question) + "\n")
    child.stdin.flush()
    answer = json.loads(child.stdout.readline())
    if "err" in answer:
        return [{"err": answer["err"]}]
    if not multirun:
        return [answer]
    return [{"overrides": job, **made} for job, made in zip(answer["overrides"], answer["jobs"])]


def difference(left, right):
    if len(left) != len(right):
        return f"{len(left)} jobs, not {len(right)}"
    for number, (expected, actual) in enumerate(zip(left, right)):
        for field, value in expected.items():
            if actual.get(field) != value:
                return f"job {number}, {field}:\n{value}\n--- but\n{actual.get(field, actual.get('err'))}"
    return None


def run(binary, all_cases, plant=""):
    environment = dict(os.environ, ROOFLENS_PLANT=plant)
    with subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as child:
        for overrides, multirun in all_cases:
            found = difference(theirs(overrides, multirun), ours(child, overrides, multirun))
            if found:
                yield overrides, found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plant", action="store_true")
    arguments = parser.parse_args()
    all_cases = list(cases(arguments.pairs, arguments.seed))
    if arguments.plant:
        for plant in ("header", "optional", "override-order"):
            noticed = sum(1 for _ in run(arguments.binary, all_cases, plant))
            print(f"plant {plant}: noticed in {noticed} of {len(all_cases)} cases")
            if not noticed:
                sys.exit(1)
        return
    found = list(run(arguments.binary, all_cases))
    for overrides, what in found[:5]:
        print(overrides, what)
    print(f"seed {arguments.seed}: {len(all_cases)} cases, {len(found)} differences")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
