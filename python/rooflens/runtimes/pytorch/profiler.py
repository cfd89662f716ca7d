"""The pass under torch.profiler: trace.json.gz, and the FLOPs that only the profiler in memory knows."""

import contextlib
import json
from typing import Any, Dict, Iterator, List, Tuple

from rooflens.runtimes.pytorch.model import Loaded
from rooflens.runtimes.pytorch.ranges import Ranges
from rooflens.workload import clock
from rooflens.workload.errors import WorkloadError
from rooflens.workload.events import SCHEMA, Events
from rooflens.workload.spec import Spec

# Products that torch's with_flops has a formula for.
MATRIX_PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::conv2d")
# Operators that multiply matrices, inside or by a kernel of their own: where nothing of the above is inside,
# torch does not count them.
PRODUCTS = (
    "aten::linear", "aten::matmul", "aten::mv", "aten::dot", "aten::einsum", "aten::_grouped_mm", "aten::_scaled_mm",
    "aten::_scaled_grouped_mm", "aten::_int_mm", "aten::_weight_int4pack_mm", "aten::_weight_int8pack_mm",
    "aten::scaled_dot_product_attention", "flash_attn::_flash_attn_forward",
    "flash_attn::_flash_attn_varlen_forward", "flash_attn_3::fwd", "aten::conv1d", "aten::conv3d",
)


@contextlib.contextmanager
def profiled(spec: Spec, events: Events, loaded: Loaded, ranges: Ranges) -> Iterator[None]:
    """Profiles what is inside. Should that fail or be stopped, what was recorded is still written."""
    import torch
    from torch.profiler import profile

    activities = pick_activities(spec, loaded)
    # The first session of a process sets the machinery up, which would otherwise be in the trace.
    with profile(activities=activities):
        torch.ones(1, device=loaded.device).add_(1)
    options = spec.profiler_options
    session = profile(activities=activities, **options)
    try:
        with session, ranges.on(loaded):
            # Inside the session: metadata that is added later is lost.
            session.add_metadata_json("model_config", loaded.model.config.to_json_string())
            session.add_metadata_json("rooflens", json.dumps({"schema": SCHEMA, "clock": clock.anchor()}))
            yield
    finally:
        write(session, spec, events, options["with_flops"])


# What may be named: those of torch.profiler. `cuda` stands for any accelerator; others are left out where the model
# is on another kind of device.
ACTIVITIES = ("cpu", "cuda", "xpu", "hpu", "mtia")


def pick_activities(spec: Spec, loaded: Loaded) -> List[Any]:
    from torch.profiler import ProfilerActivity

    names = spec.get("pipeline.torch_profiler.activities", ["cpu", "cuda"])
    if set(names) - set(ACTIVITIES) or not names:
        raise WorkloadError(
            f"pipeline.torch_profiler.activities is {names}", f"some of: {', '.join(ACTIVITIES)}"
        )
    picked = [ProfilerActivity.CPU] if "cpu" in names else []
    kind = loaded.device.type
    # Older versions of torch do not have every one of them.
    if kind != "cpu" and ("cuda" in names or kind in names) and hasattr(ProfilerActivity, kind.upper()):
        picked.append(getattr(ProfilerActivity, kind.upper()))
    return picked or [ProfilerActivity.CPU]


def write(session: Any, spec: Spec, events: Events, with_flops: bool) -> None:
    stage, events.stage = events.stage, "writing the trace"
    trace = spec.output / "trace.json.gz"
    events.emit("working", what="exporting the trace")
    session.export_chrome_trace(str(trace))
    events.file(trace, "kineto")
    if with_flops:
        write_flops(session, spec, events)
    # Whatever failed before, failed there and not here.
    events.stage = stage


def write_flops(session: Any, spec: Spec, events: Events) -> None:
    events.emit("working", what="counting FLOPs by operator")
    try:
        rows = flops_by_phase(session)
    except UnicodeDecodeError as error:
        # Of torch's own making, with stacks now and then. The trace is whole: the run goes on.
        events.note("warning", "no_torch_flops", f"torch could not read the events that it recorded: {error}")
        return
    path = spec.output / "torch_flops.json"
    record = {"schema": SCHEMA, "counts": "as torch.profiler's with_flops", **rows}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    events.file(path, "torch_flops")


def flops_by_phase(session: Any) -> Dict[str, List[Dict[str, Any]]]:
    """Rows of phase, operator and input shapes, and those of products that torch has no formula for.

    The trace's own file leaves FLOPs out.
    """
    counted: Dict[Tuple[str, str, str], Dict[str, Any]] = {}
    uncounted: Dict[Tuple[str, str, str], Dict[str, Any]] = {}
    for event in session.events():
        if event.flops:
            row = row_of(counted, event)
            row["flops"] = row.get("flops", 0) + int(event.flops)
        elif event.name in PRODUCTS and not is_within_product(event) and not counts_inside(event):
            row_of(uncounted, event)
    by_flops = lambda row: (row["phase"], -row.get("flops", 0), row["name"])  # noqa: E731
    return {"rows": sorted(counted.values(), key=by_flops), "uncounted": sorted(uncounted.values(), key=by_flops)}


def row_of(rows: Dict[Tuple[str, str, str], Dict[str, Any]], event: Any) -> Dict[str, Any]:
    phase, shapes = phase_of(event), json.dumps(event.input_shapes)
    empty = {"phase": phase, "name": event.name, "shapes": event.input_shapes, "calls": 0}
    row = rows.setdefault((phase, event.name, shapes), empty)
    row["calls"] += 1
    return row


def is_within_product(event: Any) -> bool:
    parent = event.cpu_parent
    while parent is not None:
        if parent.name in PRODUCTS:
            return True
        parent = parent.cpu_parent
    return False


def counts_inside(event: Any) -> bool:
    """Whether an operator inside has FLOPs: then the product is made of what torch knows."""
    return any(child.name in MATRIX_PRODUCTS or counts_inside(child) for child in event.cpu_children)


def phase_of(event: Any) -> str:
    """prefill or decode, by the range that the operator stands in; other, outside of both."""
    parent = event.cpu_parent
    while parent is not None:
        if parent.name == "rooflens.prefill":
            return "prefill"
        if parent.name.startswith("rooflens.decode["):
            return "decode"
        parent = parent.cpu_parent
    return "other"
