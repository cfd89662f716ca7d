"""Compose random config trees with hydra-core and with rooflens-compose, and compare.

    python oracles/compose/compose_diff.py --binary PATH/compose_view [--cases 3000] [--seed N] [--plant 150]

The binary is `cargo build --example compose_view`; run this with the venv of hydra-core 1.3.8.
Compared: the YAML of the job and of the hydra node, the resolved YAML, the defaults list, the
choices and their order, the texts of --info, warnings, the jobs of sweeps and their overrides, and
whether there is an error. `--plant N` composes the first N cases also with mistakes planted in the
binary, and fails unless every kind of mistake is noticed.
"""
import argparse
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import yaml
from hydra import initialize_config_dir
from hydra._internal import config_loader_impl
from hydra._internal import hydra as hydra_module
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import OmegaConf, open_dict

PLANTS = ["override-order", "header", "self-last", "optional"]
GROUPS = ["model", "db", "srv", "exp"]
NESTED = ["srv/db", "model/arch"]
OPTIONS = ["a", "b", "c.min"]
KEYS = ["x", "y", "z", "lr", "name", "d", "l"]
PACKAGES = ["_global_", "_here_", "_group_", "pkg", "pkg.in", "_global_.top", "model", "srv.db", "hydra.job.env_set"]

# What a hydra node may hold, and what it may not.
HYDRA = [
    {"run": {"dir": "out/${x}"}}, {"run": {"dir": 5}}, {"job": {"name": "n", "chdir": "yes"}}, {"mode": "MULTIRUN"}, {"mode": 1},
    {"sweeper": {"params": {"x": "1,2", "lr": 3}}}, {"job": {"env_set": {"A": 1}}}, {"output_subdir": None},
    {"searchpath": ["nowhere"]}, {"verbose": ["a", 1]}, {"job": {"num": "7", "env_copy": ["HOME"]}},
    {"sweep": {"dir": "m", "subdir": "${hydra.job.override_dirname}"}}, {"callbacks": {"c": {"_target_": "t"}}},
    {"job": {"config": {"override_dirname": {"kv_sep": "-", "exclude_keys": ["x"]}}}}, {"help": {"app_name": 1}},
    {"job_logging": {"root": {"level": "DEBUG"}}}, {"sweeper": {"max_batch_size": 2}},
]
WRONG_HYDRA = [
    {"job": {"chdir": "maybe"}}, {"nonsense": 1}, {"job": {"env_set": {"A": 1, "B": None}}}, {"run": None}, {"searchpath": "x"},
    {"launcher": {"x": 1}}, 5, None, {"sweeper": 3}, {"job": {"num": "x"}}, {"mode": "walk"}, {"overrides": {"task": "x"}},
    {"callbacks": None}, {"job": {"env_copy": [None]}}, {"run": ["x"]},
]
WRONG_DEFAULTS = [{"model": 5}, {"a": "b", "c": "d"}, {}, None, 7, {"model": [1]}, ["x"], "_self_@x", {"x y model": "a"},
                  {"db": "_self_"}, {"@x": "a"}, {1: "a"}]
PLAIN = [0, 1, 17, 2.5, 1e-5, True, False, "text", "two words", "yes", "12", "", "a: b", "on", {True: "t"}, 10**20]
INTERPOLATIONS = [
    "${x}", "${y}", "${d}", "${l}", "${l.0}", "${l[1].x}", "${d.x}", "p_${x}_s", "${x}${y}", "$${x}", "${oc.select:nope}",
    "${oc.select:x,3}", "${oc.select:.z,'q'}", "${oc.env:HOME}", "${oc.env:NOPE_NOPE,7}", "${oc.decode:'3.5'}",
    "${oc.create:[1,${x}]}", "${oc.dict.keys:d}", "${hydra:job.name}", "${hydra:runtime.choices}", "${hydra:overrides.task}",
    "v=${d} l=${l}", "${oc.select:d.x.y.z,1}", "${oc.create:{p: ${y}, q: {r: 1}}}", "${z}", "${d.${name}}", "${oc.create:'a: ${x}'}",
]
WRONG_INTERPOLATIONS = [
    "${.x}", "${..d.x}", "${model.name}", "${srv.db.x}", "\\${x}", "${nope}", "${oc.env:NOPE_NOPE}", "${hydra:nope}",
    "${hydra.job.name}", "${oc.deprecated:x}", "${unknown:1}", "${...x}", "${", "${x", "${x:", "a${b}}c${",
]
HYDRA_KEYS = ["hydra.run.dir", "hydra.job.name", "hydra.job.chdir", "hydra.job.env_set.A", "hydra.verbose", "hydra.sweeper.params",
              "hydra.job.num", "hydra.nope", "hydra.job", "hydra.mode", "hydra.searchpath", "hydra.job.env_copy",
              "hydra.output_subdir", "hydra", "hydra.sweep.dir"]
LIST_KEYS = ["l.0", "l.1", "l.5", "l.x", "l.1.x", "d.l.0", "d.d.x", "d.x.y", "x.y", "new", "new.key"]
VALUES = ["1", "2.5", "true", "null", "text", "'quo ted'", "[1,2]", "[]", "{x:1}", "{x:1,new:2}", "{d:{x:5}}", "{}", "???", "${x}",
          "'${y}'", "${d}", "a b", "", "1e3", "[a,{b:1}]", "{x:???,y:2}", "${oc.env:HOME}", "'${'", "{l:[1]}", "MULTIRUN", "[HOME]",
          "yes", "nowhere"]
SWEEPS = ["1,2", "a,b", "range(3)", "choice(x,y)", "'q',r", "[1],[2]", "range(0.0,1.0,0.5)", "glob(*)", "glob(a*)", "{a:1},{b:2}",
          "true,null"]
HYDRA_GROUPS = ["hydra/job_logging=disabled", "hydra/launcher=basic", "hydra/output=default", "hydra/hydra_logging=none"]
WRONG_HYDRA_GROUPS = ["hydra/nope=x", "~hydra/help", "hydra/job_logging=nope", "+hydra/env=default", "hydra/callbacks=null"]


class Tree:
    """A random config tree and a random command line for it."""

    def __init__(self, rng):
        self.rng = rng
        self.calm = rng.random() < 0.75  # few mistakes, so that most of the tree is reached
        self.groups = rng.sample(GROUPS, rng.randint(1, 4)) + rng.sample(NESTED, rng.randint(0, 2))
        self.options = {group: OPTIONS[: rng.randint(1, 3)] for group in self.groups}
        self.shared = rng.sample(["base", "common"], rng.randint(0, 2))
        self.listed = []  # groups of the primary config's defaults list
        self.files = {"config.yaml": self.config("", primary=True)}
        for group in self.groups:
            self.files |= {f"{group}/{option}.yaml": self.config(group) for option in self.options[group]}
        self.files |= {f"{name}.yaml": self.config("", name=name) for name in self.shared}
        self.config_name = "config"
        if rng.random() < 0.02:
            self.files["srv/config.yaml"] = self.config("srv")
            self.config_name = "srv/config"
        if rng.random() < 0.005:
            self.config_name = rng.choice(["confg", "config.yaml", "sub/none"])
        self.sweeps = rng.random() < 0.1
        self.overrides = [self.override() for _ in range(rng.choice([0, 0, 1, 1, 2, 3]))]
        if rng.random() < 0.15:  # the later of two wins
            key = rng.choice(["++x", "++d.x", "++name"])
            self.overrides += [f"{key}={value}" for value in rng.sample(["1", "two", "[3]", "null"], 2)]

    def chance(self, probability):
        return self.rng.random() < probability * (0.04 if self.calm else 1)

    def mixed(self, right, wrong, probability):
        return self.rng.choice(wrong if self.chance(probability) else right)

    # Configs

    def config(self, group, primary=False, name=None):
        rng = self.rng
        if self.chance(0.06):
            return rng.choice(["", "- 1\n- 2\n", "{}\n", "just text\n", "a: [\n", "x: 1\nx: 2\n"])
        body = {}
        if primary or rng.random() < (0.5 if group == "exp" else 0.2):
            body["defaults"] = self.defaults(group, primary, name)
        body |= {key: self.value(key, 2) for key in rng.sample(KEYS, rng.randint(0, 4))}
        if primary and self.calm:
            safe = {"x": 1, "y": "why", "name": "x", "d": {"x": 3, "y": [1, 2]}, "l": ["one", {"x": 2}], "z": None}
            body.update({key: value for key, value in safe.items() if rng.random() < 0.8})
        if primary and rng.random() < 0.15:
            body[rng.choice(self.groups).split("/")[0]] = self.value("d", 2)
        if rng.random() < (0.12 if primary else 0.01):
            body["hydra"] = self.mixed(HYDRA, WRONG_HYDRA, 0.4)
        header = ""
        if group and rng.random() < (0.8 if group == "exp" else 0.12):
            package = rng.choice(["_global_"] * 8 + ["foo.bar", "model", "_group_", "_global_.q", "_here_"])
            header = rng.choice(["# note\n"] + [""] * 9) + f"# @package {'two words' if self.chance(0.05) else package}\n"
        return header + yaml.dump(body, sort_keys=False)

    def defaults(self, group, primary, name):
        rng = self.rng
        items, chosen = [], []
        pool = self.groups if not group else [g[len(group) + 1:] for g in self.groups if g.startswith(group + "/")]
        absolute = ["/" + g for g in self.groups if g != group]
        if not primary and self.calm:
            # What the primary config lists already can be listed again only under another package.
            absolute = [g for g in absolute if g[1:] not in self.listed]
            pool = [g for g in pool if (f"{group}/{g}" if group else g) not in self.listed]
        for _ in range(rng.randint(1, 4) if primary else rng.randint(1, 2)):
            candidates = pool if (pool and rng.random() < 0.9) else absolute
            if not candidates or rng.random() < 0.15:
                path = self.config_default(group, name)
                items += [path] if path else []
                continue
            item = rng.choice(candidates)
            if item not in chosen or self.chance(0.1):
                chosen.append(item)
                items.append(self.group_default(item, group))
        if primary:
            self.listed = [item.lstrip("/") for item in chosen]
        overrides = []
        if not primary and rng.random() < (0.7 if group == "exp" else 0.1):
            # Only what stands before can be overridden.
            before = self.listed[: self.listed.index(group)] if group in self.listed else self.listed
            is_calm = self.listed and (self.calm or rng.random() < 0.6)
            overrides.append(self.override_item(["/" + it for it in before] if is_calm else absolute, [] if is_calm else chosen))
        elif primary and rng.random() < 0.1:
            overrides.append(self.override_item(chosen if self.calm else pool, chosen))
        for _ in range((rng.random() < 0.65) + self.chance(0.02)):
            items.insert(rng.randint(0, len(items)), "_self_")
        if primary and rng.random() < 0.08:
            option = self.mixed(["disabled", "none", "default"], ["stdout", "basic", "nope"], 0.5)
            overrides.append({"override hydra/" + rng.choice(["job_logging", "hydra_logging"]): option})
        items += [it for it in overrides if it]
        if self.chance(0.03):
            items.reverse()
        if self.chance(0.03):
            items.append(rng.choice(WRONG_DEFAULTS))
        return rng.choice([None, {"model": "a"}, "???", "text", "${l}"]) if self.chance(0.01) else items

    def option(self, group):
        group = group.lstrip("/")
        return "nope" if self.chance(0.06) or group not in self.options else self.rng.choice(self.options[group])

    def group_default(self, name, group):
        rng = self.rng
        full = name.lstrip("/") if name.startswith("/") or not group else f"{group}/{name}"
        interpolated = ["${%s}" % it for it in self.groups] + ["${oc.env:NOPE,a}"]
        wrong = ["${nope}", "a${x}", "${.model}", "${..model}", "${defaults.0.db}", "???"]
        option = rng.choices(
            [self.option(full), None, [self.option(full) for _ in range(rng.randint(0, 2))], rng.choice(interpolated), rng.choice(wrong)],
            [83, 5, 5, 5, 0.5 if self.calm else 4],
        )[0]  # fmt: skip
        key = name + ("@" + rng.choice(PACKAGES) if rng.random() < 0.2 else "")
        if rng.random() < 0.12:
            key, option = "optional " + key, "nope" if rng.random() < 0.3 else option
        return {key: option}

    def override_item(self, candidates, chosen):
        if not candidates:
            return None
        rng = self.rng
        name = rng.choice(chosen) if chosen and rng.random() < 0.4 else rng.choice(candidates)
        key = ("override optional " if rng.random() < 0.05 else "override ") + name
        key += "@" + rng.choice(PACKAGES) if rng.random() < 0.1 else ""
        option = self.option(name)
        return {key: rng.choice([option] * 12 + [None, [option]])}

    def config_default(self, group, name):
        rng = self.rng
        paths = ["/" + it for it in self.shared if it != name] + [it for it in self.shared if it != name and not group]
        if name is None:
            paths += [f"/{it}/{option}" for it in self.groups if it != group for option in self.options[it]]
        if self.chance(0.05) or not paths:
            return None if self.calm else "absent"
        if self.calm and (group or name) and rng.random() < 0.7:
            return None  # or the lists would name each other all the time
        return rng.choice(paths) + ("@" + rng.choice(PACKAGES) if rng.random() < 0.15 else "")

    def value(self, key, depth):
        rng = self.rng
        if key in "dl" and rng.random() < 0.85 and depth:
            names = rng.sample(KEYS, rng.randint(0, 3))
            return {k: self.value(k, depth - 1) for k in names} if key == "d" else [self.value(k, depth - 1) for k in names]
        roll = rng.random()
        if roll < 0.2:
            return self.mixed(INTERPOLATIONS, WRONG_INTERPOLATIONS, 0.35)
        if roll < 0.3:
            return "???" if roll < 0.25 else None
        if roll < 0.4 and depth:
            return {k: self.value(k, depth - 1) for k in rng.sample(KEYS, 2)} if roll < 0.36 else [1, {"x": 2}]
        return rng.choice(PLAIN)

    # The command line

    def key(self):
        rng = self.rng
        start = rng.choice([g.replace("/", ".") for g in self.groups] + ["d", "pkg", "foo.bar", "srv"])
        keys = [rng.choice(KEYS), start + "." + rng.choice(KEYS), rng.choice(LIST_KEYS), rng.choice(HYDRA_KEYS), rng.choice(self.groups)]
        return rng.choices(keys, [35, 35, 10, 10, 10])[0]

    def cli_value(self):
        if self.sweeps and self.rng.random() < 0.6:
            return self.rng.choice(SWEEPS)
        return self.mixed(VALUES, ["a,b", "range(3)", "a=b", "[1,", "'open"], 0.03)

    def override(self):
        rng = self.rng
        roll = rng.random()
        if roll < 0.45:
            return self.group_override()
        if roll < 0.5:
            return rng.choice(HYDRA_GROUPS if self.calm else HYDRA_GROUPS + WRONG_HYDRA_GROUPS)
        if self.calm and rng.random() < 0.85:
            if rng.random() < 0.4:
                new = ["new", "new.key", "d.new", "model.new", "hydra.job.env_set.Q", "q.w"]
                return rng.choice(["+", "++"]) + rng.choice(new) + "=" + self.cli_value()
            key = rng.choice(["x", "y", "d.x", "l", "name", "l.0", "d", "hydra.run.dir", "hydra.verbose"])
            plain = ["1", "text", "null", "'q q'", "[1,2]", "${x}", "true", "1e-3", "???"]
            return key + "=" + rng.choice(["1,2", "range(3)", "'a',b", "x"] if self.sweeps else plain)
        prefix = rng.choice(["", "", "", "+", "+", "++", "++", "~"])
        return prefix + self.key() + ("" if prefix == "~" and rng.random() < 0.7 else "=" + self.cli_value())

    def group_override(self):
        rng = self.rng
        group, prefix = rng.choice(self.groups), rng.choice(["", "", "", "", "+", "+", "~", "++"])
        if self.calm:
            group = rng.choice(self.listed) if self.listed and rng.random() < 0.7 else group
            prefix = rng.choice(["", "", "", "~"]) if group in self.listed else "+"
        key = group
        if rng.random() < (0.05 if self.calm else 0.2):
            key += "@" + rng.choice(["pkg", "pkg.in", "_global_", "top", "model", "srv.db", "", "foo", group.replace("/", ".")])
        key = self.mixed([key], ["modl", "nogroup", "srv/nope", "modl@pkg"], 0.05)
        value = self.mixed([self.option(group)], ["null", "[a,b]", "???", "5", "{x:1}", "'${model}'", "''", "[a,1]", "[]"], 0.15)
        if self.sweeps and rng.random() < 0.5:
            value = rng.choice(["a,b", "glob(*)", "a,b,c.min", "choice(a)"])
        return prefix + key + ("" if prefix == "~" and rng.random() < 0.6 else f"={value}")


class Capture:
    def __init__(self):
        self.lines = []

    def info(self, line):
        self.lines.append(line)

    debug = info

    def text(self):
        return "\n".join(self.lines) + "\n"


RECORDED = []
_create = config_loader_impl.create_defaults_list


def _recording(**arguments):
    result = _create(**arguments)
    RECORDED.append(result)
    return result


config_loader_impl.create_defaults_list = _recording


def view(full, defaults, warned):
    job = copy.deepcopy(full)
    with open_dict(job):
        del job["hydra"]
    hydra = hydra_module.Hydra.get_sanitized_hydra_cfg(full)
    HydraConfig.instance().set_config(full)
    result = {
        "job": OmegaConf.to_yaml(job),
        "hydra": OmegaConf.to_yaml(hydra),
        "defaults": [[d.config_path, d.package, d.is_self, d.parent, d.primary] for d in defaults.defaults],
        "choices": [[k, v] for k, v in defaults.overrides.known_choices.items()],
        "no_self": warned,
    }
    gh = GlobalHydra.instance().hydra
    capture = hydra_module.log = Capture()
    capture.info("\nDefaults Tree\n*************")
    gh._print_defaults_tree_impl(defaults.defaults_tree)
    result["tree"] = capture.text()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            OmegaConf.resolve(job)
            result["resolved"] = OmegaConf.to_yaml(job)
    except (Exception, RecursionError) as error:
        result["resolved"] = None
        result["resolved_error"] = f"{type(error).__name__}: {error}"
    return result


def compose(tree, folder, info):
    for path, text in tree.files.items():
        file = Path(folder) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    HydraConfig.instance().cfg = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with initialize_config_dir(version_base="1.3", config_dir=folder):
                RECORDED.clear()
                loader = GlobalHydra.instance().config_loader()
                if tree.sweeps:
                    return multirun(tree, loader, caught)
                full = loader.load_configuration(tree.config_name, list(tree.overrides), RunMode.RUN, from_shell=False)
                result = view(full, RECORDED[-1], any("_self_" in str(w.message) for w in caught))
                if info:
                    # A program that is asked for --info has composed nothing yet.
                    HydraConfig.instance().cfg = None
                    capture = hydra_module.log = Capture()
                    gh = GlobalHydra.instance().hydra
                    gh._print_defaults_list(tree.config_name, list(tree.overrides))
                    result["defaults_text"] = capture.text()
                    capture = hydra_module.log = Capture()
                    gh._print_search_path(tree.config_name, list(tree.overrides))
                    result["search_path_text"] = capture.text()
                return result
        except (Exception, RecursionError) as error:
            chain = []
            while error is not None:
                chain.append(f"{type(error).__name__}: {error}")
                error = error.__cause__
            return {"err": " <- ".join(chain)}


def multirun(tree, loader, caught):
    master = loader.load_configuration(tree.config_name, list(tree.overrides), RunMode.MULTIRUN)
    sweeper = master.hydra.sweeper
    params = [f"{k}={v}" for k, v in (sweeper.params or {}).items()]
    arguments = params + list(OmegaConf.to_container(master.hydra.overrides.task, resolve=False))
    parsed = OverridesParser.create(config_loader=loader).parse_overrides(arguments)
    batches = BasicSweeper.split_arguments(parsed, sweeper.max_batch_size)
    jobs = [job for batch in batches for job in batch]
    made = []
    for number, job in enumerate(jobs[:4]):
        try:
            caught.clear()
            # A launcher forgets the config of a job before it composes the next.
            HydraConfig.instance().cfg = None
            config = loader.load_sweep_config(master, list(job))
            with open_dict(config):
                config.hydra.job.id = number
                config.hydra.job.num = number
            made.append(view(config, RECORDED[-1], any("_self_" in str(w.message) for w in caught)))
        except (Exception, RecursionError) as error:
            made.append({"err": f"{type(error).__name__}: {error}"})
    return {"batches": [len(batch) for batch in batches], "overrides": jobs, "jobs": made}


def difference(theirs, ours):
    if ("err" in theirs) != ("err" in ours):
        return "err"
    if "err" in theirs:
        return None
    if "jobs" in theirs:
        for field in ("batches", "overrides"):
            if theirs[field] != ours[field]:
                return field
        for left, right in zip(theirs["jobs"], ours["jobs"]):
            found = difference(left, right)
            if found:
                return "job " + found
        return None
    for field in theirs:
        if field.endswith("_error"):
            continue
        if theirs[field] != ours[field]:
            return field
    return None


class Ours:
    """A process of rooflens-compose, perhaps with a mistake planted in it."""

    def __init__(self, binary, plant=""):
        environment = dict(os.environ, ROOFLENS_PLANT=plant)
        self.child = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def compose(self, tree, place):
        question = {"dir": place, "config": tree.config_name, "overrides": tree.overrides, "multirun": tree.sweeps}
        self.child.stdin.write(json.dumps(question) + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise SystemExit(f"the binary died: {tree.files} {tree.overrides}")
        return json.loads(line)

    def end(self):
        self.child.stdin.close()
        self.child.wait()


def run(binary, trees, folder, planted):
    """Composes the trees with both; the first `planted` of them also with every mistake."""
    ours, wrong = Ours(binary), {plant: Ours(binary, plant) for plant in PLANTS} if planted else {}
    found, noticed, seen = [], Counter(), Counter()
    for index, tree in enumerate(trees):
        place = os.path.join(folder, str(index))
        theirs = compose(tree, place, index % 10 == 0)
        answer = ours.compose(tree, place)
        seen["errors"] += "err" in theirs
        seen["unresolved"] += "err" not in theirs and "resolved" in theirs and theirs["resolved"] is None
        seen["sweeps"] += "jobs" in theirs
        field = difference(theirs, answer)
        if field:
            found.append((index, field))
            if len(found) <= 3:
                report(index, field, tree, theirs, answer)
        if index < planted and not tree.sweeps:
            for plant, process in wrong.items():
                # The hydra node says where configs come from, which is another place here anyhow.
                noticed[plant] += difference(theirs, process.compose(tree, place)) not in (None, "hydra", "search_path_text")
        shutil.rmtree(place)
    for process in (ours, *wrong.values()):
        process.end()
    return found, noticed, seen


def report(index, field, tree, theirs, ours):
    print(f"--- case {index} differs in {field}; {tree.config_name} {tree.overrides}")
    for path, text in tree.files.items():
        print(f"[{path}]\n{text}")
    plain = field.replace("job ", "")
    if "jobs" in theirs and "jobs" in ours and field.startswith("job "):
        for left, right in zip(theirs["jobs"], ours["jobs"]):
            if difference(left, right):
                theirs, ours = left, right
                break
    print(f"hydra: {theirs.get(plain)}\n{theirs.get(plain + '_error', '')}\nours:  {ours.get(plain)}")
    if plain == "err":
        print(theirs.get("job", ""), ours.get("job", ""))
    sys.stdout.flush()


FIXTURES = Path(__file__).resolve().parents[2] / "crates/rooflens-compose/tests/fixtures"
# What the goldens of the fixtures compose.
ASKED = {
    "training": [
        ("train", []), ("eval", []), ("eval", ["ckpt_path=/x.ckpt", "trainer=ddp", "logger=many"]),
        ("train", ["experiment=example"]), ("train", ["experiment=example", "logger=wandb"]), ("train", ["experiment=late"]),
        ("train", ["experiment=example", "model=dense", "model.optimizer.lr=5e-4"]), ("train", ["debug=overfit"]),
        ("train", ["debug=default", "experiment=example"]), ("train", ["callbacks=none", "trainer=gpu", "+trainer.fast_dev_run=true"]),
        ("train", ["hparams_search=grid"]), ("train", ["logger=[csv,wandb]"]), ("train", ["~callbacks", "~trainer.devices"]),
        ("train", ["data=imagse"]), ("train", ["model.lr=1"]), ("train", ["experiment=none"]), ("train", ["trainer.max_epochs=1,2"]),
        ("train", ["+model/extra=x"]), ("train", ["hydra.run.dir=/out", "hydra.job.chdir=true", "tags=[a,b c]"]),
    ],
    "pipeline": [
        ("config", []), ("config", ["hardware=gpu-b"]), ("config", ["runtime@pipeline.load=compiled", "output@pipeline.report=html"]),
        ("config", ["model/tiny/arch@model.arch=wide", "model/tiny/infer@model.infer=sampled", "dataset/sampling=random"]),
        ("config", ["dataset/sampling@dataset.sampling=random"]),
        ("config", ["profiling/torch@pipeline.torch_profiler=torch-profiler.max", "pipeline.nsys.enable=true", "pipeline.nsys.trace=[cuda]"]),
        ("config", ["profiling/ncu@pipeline.ncu=ncu.full"]), ("config", ["runtime=compiled"]), ("config", ["~profiling/ncu@pipeline.ncu"]),
        ("config", ["pipeline.prefill.tokens=128", "experiment=second"]), ("config", ["+runtime@pipeline.extra=eager", "dataset.files.0=c.txt"]),
        ("config", ["pipeline.torch_profiler={enable:false,activities:[]}"]), ("config", ["pipeline.ncus.enable=true"]),
    ],
}


def write_goldens():
    """What hydra-core says of the fixture trees, for the Rust tests."""
    for name, asked in ASKED.items():
        lines = []
        for config, overrides in asked:
            case = {"config": config, "overrides": overrides}
            os.environ.pop("PROJECT_ROOT", None)
            try:
                with warnings.catch_warnings(), initialize_config_dir(version_base="1.3", config_dir=str(FIXTURES / name)):
                    warnings.simplefilter("ignore")
                    loader = GlobalHydra.instance().config_loader()
                    full = loader.load_configuration(config, list(overrides), RunMode.RUN, from_shell=False)
                    seen = view(full, RECORDED[-1], False)
                case.update(job=seen["job"], resolved=seen["resolved"], choices=dict(seen["choices"]))
                case["defaults"] = [entry[:4] for entry in seen["defaults"]]
                case["run"] = OmegaConf.to_yaml(full.hydra.run)
                case["job_logging"] = OmegaConf.to_yaml(full.hydra.job_logging)
                case["params"] = OmegaConf.to_container(full.hydra.sweeper).get("params")
            except Exception as error:
                case["err"] = str(error).split("\n")[0]
            lines.append(json.dumps(case))
        (FIXTURES / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        print(name, len(lines), "cases,", sum("err" in json.loads(line) for line in lines), "errors")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--binary")
    arguments.add_argument("--goldens", action="store_true", help="only write the goldens of the fixtures")
    arguments.add_argument("--cases", type=int, default=3000)
    arguments.add_argument("--seed", type=int, default=random.randrange(10**6))
    arguments.add_argument("--plant", type=int, default=0, help="how many cases to compose wrongly, too")
    options = arguments.parse_args()
    if options.goldens:
        return write_goldens()
    print(f"seed {options.seed}", flush=True)
    trees = [Tree(random.Random(f"{options.seed}/{index}")) for index in range(options.cases)]
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        found, noticed, seen = run(options.binary, trees, folder, options.plant)
    composed = len(trees) - seen["errors"]
    print(f"{len(trees)} cases: {composed} composed ({seen['sweeps']} sweeps, {seen['unresolved']} not resolvable), {seen['errors']} errors in Hydra; {len(found)} differ {found[:40] or ''}")
    missed = [plant for plant in PLANTS if options.plant and not noticed[plant]]
    if options.plant:
        print(f"planted mistakes, noticed in so many of {options.plant} cases: {dict(noticed)}")
    sys.exit(f"not noticed: {missed}" if missed else bool(found))


if __name__ == "__main__":
    main()
