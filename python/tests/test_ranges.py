"""Names in a profile: stages of a model that sees, the gate of a capture, compiled models."""

import contextlib
import types
import unittest
from typing import Any, Dict, Iterator, List

from rooflens.runtimes.pytorch import inputs
from rooflens.runtimes.pytorch.decode import Decoder
from rooflens.runtimes.pytorch.ranges import Ranges
from rooflens.runtimes.pytorch.sampling import TokenChoice
from rooflens.workload.clock import HostClock
from tests import models
from tests.support import annotations, needs_pictures, needs_torch, passed


@needs_torch
class Names(unittest.TestCase):
    def recorded(self, captured: Any) -> List[str]:
        """The ranges of a batch of three tokens, as they are opened; a mock stands for NVTX."""
        names: List[str] = []

        @contextlib.contextmanager
        def named(name: str) -> Iterator[None]:
            names.append(name)
            yield
            if name == "rooflens.capture":
                names.append("end of capture")

        spec = models.spec_for("llama", {"infer.max_new_tokens": 3})
        loaded = models.loaded("llama")
        ranges = Ranges(named, False, captured)
        batch = inputs.prepare(spec, loaded, models.texts(1), 3)
        decoder = Decoder(loaded, TokenChoice(spec, loaded), HostClock(), ranges)
        decoder.run(batch, 3, 0, "0.0")
        self.assertEqual(names, [], "a warm-up round has no names")
        device = types.SimpleNamespace(type="cpu")
        with ranges.on(types.SimpleNamespace(model=loaded.model, compiled=False, device=device)):
            decoder.run(batch, 3, 0, "1.0")
        self.assertFalse(any(module._forward_hooks for module in loaded.model.modules()), "hooks are gone again")
        return names

    def test_the_gate_is_around_what_is_captured(self) -> None:
        batch, prefill = "rooflens.batch[1.0]", "rooflens.prefill"
        gate, end, decode = "rooflens.capture", "end of capture", ["rooflens.decode[1]", "rooflens.decode[2]"]
        for captured, names in {
            None: [batch, prefill, *decode], "prefill": [batch, gate, prefill, end, *decode],
            "decode": [batch, prefill, gate, *decode, end], "round": [gate, batch, prefill, *decode, end],
        }.items():
            self.assertEqual(self.recorded(captured), names)

    @needs_pictures
    def test_stages_of_a_model_that_sees(self) -> None:
        models.pictures(2)
        changes: Dict[str, Any] = {
            "model.path": str(models.checkpoint("qwen2.5-vl")), "model.weights": "checkpoint",
            "dataset.kind": "image", "dataset.root": str(models.root()), "dataset.patterns": ["picture-[01].png"],
            "runtime.batch_size": 2, "pipeline.torch_profiler.with_modules": False, "warmup_rounds": 0,
        }
        names = annotations(passed("torch_profiler", changes))
        self.assertEqual(names.count("rooflens.vision"), 1, "pictures are looked at once, in the prefill")
        self.assertEqual(names.count("rooflens.projector"), 1)
        self.assertEqual(names.count("rooflens.language"), 8, "in every step")
        self.assertFalse([name for name in names if name.startswith("module:")])
