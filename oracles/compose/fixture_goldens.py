"""Compose the fixture trees with hydra-core 1.3.8 and keep what it says.

    python oracles/compose/fixture_goldens.py        (in the venv of hydra-core; writes tests/fixtures/*.jsonl)
"""
import json
import os
import warnings
from pathlib import Path

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from omegaconf import OmegaConf

from compose_diff import RECORDED, view

FIXTURES = Path(__file__).resolve().parents[2] / "crates/rooflens-compose/tests/fixtures"
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


def main():
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


if __name__ == "__main__":
    main()
