"""What to run: the file that `rooflens run` writes for each pass."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Sequence

from rooflens.workload.errors import WorkloadError

# measure: no profiler, the headline numbers. torch_profiler, nsys, ncu: under that profiler.
# cublas_log: while the matrix library writes its log. predict: answers only.
PASSES = ("measure", "torch_profiler", "nsys", "ncu", "cublas_log", "predict")

# Stands for "no default", as None is a value that a config may hold.
REQUIRED = object()


@dataclass(frozen=True)
class Spec:
    """One pass. `config` is the composed config with nothing left to resolve."""

    config: Dict[str, Any]
    project: Path
    pass_name: str
    output: Path
    cache: Path
    # batch: an event for each batch; round: only for each round.
    progress: str

    @classmethod
    def read(cls, path: str) -> "Spec":
        try:
            with open(path, encoding="utf-8") as file:
                return cls.of(json.load(file))
        except OSError as error:
            raise WorkloadError(f"cannot read {path}: {error.strerror}", "give the path of a specification")
        except ValueError as error:
            raise WorkloadError(f"{path} is not JSON: {error}", "see python/README.md for its form")

    @classmethod
    def of(cls, record: Any) -> "Spec":
        if not isinstance(record, dict):
            raise WorkloadError("the specification is not an object", "see python/README.md for its form")
        known = {"config", "project", "pass", "output", "cache", "progress"}
        missing = {"config", "project", "pass", "output"} - set(record)
        if missing or set(record) - known:
            wrong = sorted(missing or set(record) - known)
            raise WorkloadError(
                f"the specification {'lacks' if missing else 'has unknown'} {', '.join(wrong)}",
                "see python/README.md for its form",
            )
        output = Path(record["output"]).absolute()
        spec = cls(
            config=record["config"],
            project=Path(record["project"]).absolute(),
            pass_name=record["pass"],
            output=output,
            cache=Path(record.get("cache") or output / "cache").absolute(),
            progress=record.get("progress") or "batch",
        )
        one_of("pass", spec.pass_name, PASSES)
        one_of("progress", spec.progress, ("batch", "round"))
        return spec

    def get(self, key: str, default: Any = REQUIRED) -> Any:
        value: Any = self.config
        for part in key.split("."):
            if not isinstance(value, dict) or part not in value:
                if default is REQUIRED:
                    raise WorkloadError(f"the config has no {key}", f"set it: {key}=…")
                return default
            value = value[part]
        return value

    def text(self, key: str, default: Any = REQUIRED) -> str:
        return self._typed(key, default, str, "a text")

    def flag(self, key: str, default: Any = REQUIRED) -> bool:
        return self._typed(key, default, bool, "true or false")

    def count(self, key: str, default: Any = REQUIRED, least: int = 1) -> int:
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise WorkloadError(f"{key} is {value!r}, not a whole number of at least {least}", f"set {key}={least}")
        return value

    def choice(self, key: str, allowed: Sequence[str], default: Any = REQUIRED) -> str:
        value = self.text(key, default)
        one_of(key, value, allowed)
        return value

    def path(self, key: str) -> Path:
        """A path of the config, which stands from the project's folder."""
        return self.project / self.text(key)

    def names(self, key: str) -> List[str]:
        value = self.get(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise WorkloadError(f"{key} is {value!r}, not a list of strings", f"set {key}=[…]")
        return value

    def words(self, key: str) -> List[str]:
        """The words of a command: numbers are taken as they are written."""
        value = self.get(key)
        if not isinstance(value, list) or not all(is_word(item) for item in value):
            raise WorkloadError(f"{key} is {value!r}, not a list of strings and numbers", f"set {key}=[…]")
        return [str(item) for item in value]

    def _typed(self, key: str, default: Any, kind: type, wanted: str) -> Any:
        value = self.get(key, default)
        if not isinstance(value, kind):
            raise WorkloadError(f"{key} is {value!r}, not {wanted}", f"set {key}=…")
        return value

    @property
    def max_new_tokens(self) -> int:
        stage = {
            "torch_profiler": "torch_profiler",
            "cublas_log": "torch_profiler",  # the same products, so that the log fits the trace
            "predict": "direct_inference",
        }.get(self.pass_name)
        if stage and self.get(f"pipeline.{stage}.max_new_tokens", None) is not None:
            return self.count(f"pipeline.{stage}.max_new_tokens")
        return self.count("infer.max_new_tokens")

    @property
    def profiler_options(self) -> Dict[str, bool]:
        keys = ("record_shapes", "profile_memory", "with_stack", "with_flops")
        return {key: self.flag(f"pipeline.torch_profiler.{key}", False) for key in keys}

    @property
    def keeps_predictions(self) -> bool:
        if self.pass_name == "predict":
            return True
        return self.pass_name == "torch_profiler" and self.get("pipeline.torch_profiler.output.predictions", False)


def is_word(item: Any) -> bool:
    return isinstance(item, (str, int, float)) and not isinstance(item, bool)


def one_of(key: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise WorkloadError(f"{key} is {value!r}, which is unknown", f"one of: {', '.join(allowed)}")
