"""Whether the numbers of a run's metrics.json add up, and every null has its reason in the `not_computed` next to it."""

import json
from pathlib import Path
from typing import Any, Iterator

# Null is an answer of its own here: nothing was left out.
PLAIN_NULLS = {"std", "exit_code", "signal", "seed", "device", "other_share", "peak_bytes_per_s", "analysis", "model",
               "runtime", "versions", "dataset", "memory", "output_tokens", "energy_from"}


def problems(folder: Path) -> list[str]:
    document = json.loads((folder / "report/metrics.json").read_text())
    return unexplained(document, "") + sums(document)


def unexplained(value: Any, path: str) -> list[str]:
    """Nulls of an object with `not_computed` that it does not explain, and reasons for what is there."""
    found: list[str] = []
    if isinstance(value, dict):
        reasons = value.get("not_computed")
        if isinstance(reasons, dict):
            found += [f"{path}/{key}: null without a reason" for key in value
                      if value[key] is None and key not in reasons and key not in PLAIN_NULLS]
            found += [f"{path}/{key}: a reason for what is there" for key in reasons if value.get(key) is not None]
        for key, inner in value.items():
            if key != "analysis":
                found += unexplained(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            found += unexplained(inner, f"{path}/{number}")
    return found


def sums(document: dict[str, Any]) -> list[str]:
    return [f"{what}: {left} is not {right}" for what, left, right in equations(document) if left != right]


def equations(document: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name, phase in phases(document, "efficiency"):
        parts = phase["bytes"]
        yield f"bytes of {name}", parts["total"], sum(parts[key] for key in parts if key != "total")
        measured = document["measured"]["phases_ns"][name]
        yield f"time of {name}", phase["measured_ns"], measured
        seconds = measured / 1e9
        yield f"rate of {name}", round(phase["flops_per_s"] * seconds / phase["flops"]["useful"], 9), 1.0
        yield f"rate of bytes of {name}", round(phase["bytes_per_s"] * seconds / parts["total"], 9), 1.0
        if phase["mfu"] is not None:
            peak = phase["peak_flops_per_s"]
            yield f"MFU of {name}", round(phase["flops"]["useful"] / (peak * seconds) / phase["mfu"], 9), 1.0
            bandwidth = document["efficiency"]["peak_bytes_per_s"]
            yield f"MBU of {name}", round(parts["total"] / (bandwidth * seconds) / phase["mbu"], 9), 1.0
            floor = max(phase["mfu"], phase["mbu"])
            yield f"the floor of {name} is at least what is reached", phase["floor_share"] >= floor * (1 - 1e-9), True
    for name, phase in phases(document, "static_vs_measured"):
        times = [row["measured_ns"] for row in phase["parts"] if row["measured_ns"] is not None]
        yield f"parts of {name}", sum(times), phase["measured_ns"]
        kinds = ("prefill", "vision") if name == "prefill" else (name,)
        key = "device_ns" if phase["timeline"] == "device" else "self_ns"
        found = [of[key] for of in document["analysis"]["parts"] if of["phase"] in kinds]
        yield f"trace of {name}", sum(found), phase["measured_ns"]
    for name, phase in phases(document, "flops_check"):
        yield f"classes of {name}", sum(row["flops"] for row in phase["compared"]), phase["static_flops"]
        if phase["difference"] is not None:
            yield f"difference of {name}", phase["difference"], phase["static_flops"] - phase["torch_flops"]
            yield f"equality of {name}", phase["equal"], phase["difference"] == 0


def phases(document: dict[str, Any], key: str) -> list[tuple[str, dict[str, Any]]]:
    return list(document[key]["phases"].items()) if document.get(key) else []
