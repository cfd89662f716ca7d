"""Devices that no test machine has: a torch that claims them, and what is asked of it."""

import types
import unittest
from typing import Any, List
from unittest import mock

from rooflens import devices
from rooflens.runtimes.pytorch import profiler
from rooflens.workload import clock
from rooflens.workload.errors import DeviceError, WorkloadError
from tests.support import needs_torch


class Device:
    def __init__(self, name: str):
        kind, _, index = name.partition(":")
        if kind not in ("cpu", "meta", *devices.KINDS):
            raise RuntimeError(f"Expected one of cpu, cuda, ... device type: {kind}")
        self.type, self.index = kind, int(index) if index else None


def fake_torch(**kinds: Any) -> Any:
    absent = {kind: types.SimpleNamespace(is_available=lambda: False) for kind in devices.KINDS}
    return types.SimpleNamespace(device=Device, **{**absent, **kinds})


def fake_xpu(chosen: List[Any]) -> Any:
    return types.SimpleNamespace(
        is_available=lambda: True, device_count=lambda: 2, set_device=chosen.append,
        get_device_name=lambda device: f"Intel {device.type} {device.index}",
        memory_allocated=lambda device: 100, max_memory_allocated=lambda device: 200,
        memory_reserved=lambda device: 300, max_memory_reserved=lambda device: 400,
        mem_get_info=lambda device: (5, 6), synchronize=chosen.append,
    )


class Devices(unittest.TestCase):
    def test_parity_154_any_device_of_torch_is_used_as_it_is(self) -> None:
        chosen: List[Any] = []
        torch = fake_torch(xpu=fake_xpu(chosen))
        device = devices.pick("xpu:1", torch)
        self.assertEqual((device.type, device.index, chosen), ("xpu", 1, [device]))
        self.assertEqual(devices.pick("auto", torch).type, "xpu")
        self.assertEqual(devices.name(torch, device), "Intel xpu 1")
        told = devices.memory(torch, device)
        self.assertEqual(list(told.values()), [100, 200, 300, 400, 5, 6])
        self.assertEqual(devices.pick("auto", fake_torch()).type, "cpu")

    def test_parity_154_a_device_that_is_not_there_names_those_that_are(self) -> None:
        torch = fake_torch(xpu=fake_xpu([]))
        for name in ("cuda", "cuda:0", "xpu:2", "mps", "meta"):
            with self.assertRaises(DeviceError) as caught:
                devices.pick(name, torch)
            self.assertIn(repr(name), str(caught.exception))
            self.assertIn("torch sees: cpu, xpu:0, xpu:1;", caught.exception.hint)
        with self.assertRaisesRegex(DeviceError, "not a device that torch knows"):
            devices.pick("tpu", torch)

    def test_a_backend_that_tells_little_leaves_nulls(self) -> None:
        mps = types.SimpleNamespace(
            synchronize=lambda: None, current_allocated_memory=lambda: 7, driver_allocated_memory=lambda: 9
        )
        torch = fake_torch(mps=mps)
        # Before torch 2.7 only torch.backends tells whether it can be used.
        torch.backends = types.SimpleNamespace(mps=types.SimpleNamespace(is_available=lambda: True))
        device = devices.pick("mps", torch)
        told = devices.memory(torch, device)
        self.assertEqual((told["allocated_bytes"], told["reserved_bytes"], told["total_bytes"]), (7, 9, None))
        self.assertEqual(devices.name(torch, device), "mps")
        self.assertIsNone(devices.memory(fake_torch(hpu=types.SimpleNamespace()), Device("hpu")))

    def test_without_events_each_mark_waits(self) -> None:
        waited: List[Any] = []
        torch = fake_torch(hpu=types.SimpleNamespace(synchronize=waited.append))
        with mock.patch.dict("sys.modules", {"torch": torch}):
            marks = clock.for_device(Device("hpu"))
            self.assertEqual(clock.for_device(Device("cpu")).source, "host")
        marks.start(2)
        marks.mark()
        marks.mark()
        times = marks.finish()
        self.assertEqual((len(times), len(waited), marks.source), (3, 3, "host_after_synchronize"))
        self.assertEqual(times, sorted(times))

    @needs_torch
    def test_parity_154_activities_follow_the_device(self) -> None:
        from torch.profiler import ProfilerActivity

        def picked(names: List[str], kind: str) -> List[Any]:
            spec = types.SimpleNamespace(get=lambda key, default: names)
            return profiler.pick_activities(spec, types.SimpleNamespace(device=Device(kind)))

        for names, kind, more in (
            (["cpu", "xpu"], "xpu", [ProfilerActivity.XPU]),
            (["cpu", "cuda"], "xpu", [ProfilerActivity.XPU]),
            (["cpu", "cuda"], "cuda", [ProfilerActivity.CUDA]),
            (["cpu", "xpu"], "cuda", []),
            (["xpu"], "cpu", []),
        ):
            self.assertEqual(picked(names, kind), [ProfilerActivity.CPU, *more], (names, kind))
        with self.assertRaises(WorkloadError):
            picked(["cpu", "tpu"], "cpu")
