"""The machine's own peaks."""

import json
import subprocess
import sys
import unittest
from unittest import mock

from rooflens import devices, peaks
from tests.support import PACKAGE, needs_torch


@needs_torch
class Peaks(unittest.TestCase):
    def measure(self):
        import torch

        with mock.patch.object(peaks, "SIDES", (32, 64)), mock.patch.object(peaks, "BANDWIDTH_BYTES", 1 << 20):
            return peaks.measured(torch, torch.device("cpu"), 0.2)

    def test_rates_follow_from_times(self):
        found = self.measure()
        self.assertEqual({it["dtype"] for it in found["matmul"]} - {"fp32", "bf16", "fp16", "int8"}, set())
        for row in found["matmul"]:
            self.assertAlmostEqual(row["flops_per_s"], 2 * row["side"] ** 3 / (row["best_ns"] / 1e9))
            self.assertGreaterEqual(row["runs"], 3)
            self.assertLessEqual(row["best_ns"], row["median_ns"])
        for row in found["bandwidth"]:
            self.assertAlmostEqual(row["bytes_per_s"], row["bytes"] / (row["best_ns"] / 1e9))
        self.assertEqual({row["kind"]: row["bytes"] for row in found["bandwidth"]}, {"copy": 2 << 20, "scale": 2 << 20, "read": 1 << 20})

    def test_what_cannot_be_done_is_listed_not_zero(self):
        def refuses(side):
            raise RuntimeError("no such thing here\nand more")

        with mock.patch.object(peaks, "multiplications", lambda torch, device: {"fp8": refuses}):
            found = self.measure()
        self.assertEqual(found["matmul"], [])
        self.assertEqual(found["skipped"], [{"what": "matmul fp8", "reason": "no such thing here"}])

    def test_the_command_prints_one_document_or_says_what_is_missing(self):
        command = [sys.executable, "-m", "rooflens.peaks", "--seconds", "0.5", "--device"]
        ran = subprocess.run([*command, "cpu"], capture_output=True, text=True, check=True, cwd=PACKAGE)
        self.assertEqual(json.loads(ran.stdout)["device"]["kind"], "cpu")
        ran = subprocess.run([*command, "nonsense"], capture_output=True, text=True, cwd=PACKAGE)
        self.assertEqual(ran.returncode, peaks.MISSING)
        self.assertRegex(ran.stderr, "^error: nonsense cannot be used: .*\nhint: --device cpu")


class Names(unittest.TestCase):
    def test_the_processor_has_a_name(self):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            found = [line for line in file if line.startswith("model name")]
        self.assertTrue(devices.processor())
        if found:
            self.assertEqual(devices.processor(), found[0].split(":", 1)[1].strip())

    def test_without_torch_it_says_what_helps(self):
        hidden = "import sys; sys.modules['torch'] = None; from rooflens import peaks; sys.exit(peaks.main())"
        ran = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, cwd=PACKAGE)
        self.assertEqual(ran.returncode, peaks.MISSING)
        self.assertIn(f"hint: {sys.executable} -m pip install torch", ran.stderr)
