"""Rooflens shows where every microsecond of LLM inference goes.

    import rooflens

    r = rooflens.analyze("trace.json.gz")
    print(r.verdict)
    r.kernels.to_pandas()

`rooflens.analyze`, `rooflens.cost`, `rooflens.compare` and `rooflens.Run` answer questions; `rooflens.profile` takes a
trace of your own torch code. `rooflens.probe` marks the phases of a program. `python -m rooflens.workload` is what
`rooflens run` starts. Nothing here imports torch, pandas or polars before it is needed.
"""

from importlib import import_module as _import_module

__version__ = "0.1.0"

# What the native module answers. It is loaded when one of these is asked for: `rooflens run` brings this package along
# without it.
_NATIVE = (
    "Analysis", "Comparison", "Cost", "Error", "Run", "Table", "TableMap", "analyze", "compare", "cost", "explain", "report",
)

__all__ = [*_NATIVE, "profile", "Profile", "probe"]


def __getattr__(name: str) -> object:
    if name in _NATIVE:
        try:
            from rooflens import _rooflens
        except ImportError as error:
            raise ImportError(
                f"rooflens.{name} needs the whole package: pip install rooflens ({error})", name="rooflens._rooflens"
            ) from error
        return getattr(_rooflens, name)
    if name in ("profile", "Profile"):
        from rooflens import profiling

        return getattr(profiling, name)
    if name == "probe":
        # Not `from rooflens import probe`, which would ask here again.
        return _import_module("rooflens.probe")
    raise AttributeError(f"module 'rooflens' has no attribute {name!r}")


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
