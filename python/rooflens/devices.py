"""Devices as torch names them: cpu, cuda:1, xpu, mps, hpu. Whatever torch can use is used as it is; what a backend
cannot tell is null."""

import platform
from typing import Any, Dict, List, Optional

from rooflens.workload.errors import DeviceError

# Backends of torch with a module of their own, in the order that `auto` tries them.
KINDS = ("cuda", "xpu", "hpu", "npu", "mtia", "mps")


def backend(torch: Any, kind: str) -> Optional[Any]:
    """torch.cuda, torch.xpu and the like, where torch can use such a device now."""
    module = getattr(torch, kind, None) if kind in KINDS else None
    # On a Mac, torch.mps has no such function before 2.7; torch.backends.mps has.
    asked = getattr(module, "is_available", None) or getattr(
        getattr(getattr(torch, "backends", None), kind, None), "is_available", None
    )
    return module if module is not None and asked is not None and asked() else None


def count(module: Any) -> int:
    return module.device_count() if hasattr(module, "device_count") else 1


def seen(torch: Any) -> List[str]:
    found = ["cpu"]
    for kind in KINDS:
        module = backend(torch, kind)
        if module is not None:
            found += [f"{kind}:{index}" for index in range(count(module))]
    return found


def pick(name: str, torch: Any, key: str = "runtime.device") -> Any:
    """The device of a name; `auto` is the first accelerator, or else the CPU."""
    if name == "auto":
        name = next((kind for kind in KINDS if backend(torch, kind) is not None), "cpu")
    hint = f"torch sees: {', '.join(seen(torch))}; rooflens doctor --deep says why there are no others"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise DeviceError(f"{key} is {name!r}, which is not a device that torch knows", hint)
    if device.type == "cpu":
        return device
    module = backend(torch, device.type)
    if module is None or (device.index or 0) >= count(module):
        raise DeviceError(f"{key} is {name!r}, which torch cannot use here", hint)
    if device.index is not None and hasattr(module, "set_device"):
        module.set_device(device)
    return device


def synchronize(torch: Any, device: Any) -> None:
    """Waits until the device has done all that it was given."""
    if device.type == "cpu":
        return
    wait = getattr(torch, device.type).synchronize
    if device.type == "mps":
        wait()  # there is only one
    else:
        wait(device)


def processor() -> str:
    """The same name everywhere, so that the file with its peaks is found."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith(("model name", "Model")):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "CPU"


def name(torch: Any, device: Any) -> str:
    if device.type == "cpu":
        return processor()
    tell = getattr(getattr(torch, device.type), "get_device_name", None)
    return tell(device) if tell is not None else device.type


def memory(torch: Any, device: Any) -> Optional[Dict[str, Optional[int]]]:
    """What the allocator of the device says; nothing where it keeps no account."""
    module = getattr(torch, device.type, None) if device.type != "cpu" else None
    told: Dict[str, Optional[int]] = {}
    for key, function in (
        ("allocated_bytes", "memory_allocated"),
        ("peak_allocated_bytes", "max_memory_allocated"),
        ("reserved_bytes", "memory_reserved"),
        ("peak_reserved_bytes", "max_memory_reserved"),
    ):
        ask = getattr(module, function, None)
        told[key] = ask(device) if ask is not None else None
    ask = getattr(module, "mem_get_info", None)
    told["free_bytes"], told["total_bytes"] = ask(device) if ask is not None else (None, None)
    if device.type == "mps" and module is not None:
        told["allocated_bytes"] = module.current_allocated_memory()
        told["reserved_bytes"] = module.driver_allocated_memory()
    return told if any(value is not None for value in told.values()) else None
