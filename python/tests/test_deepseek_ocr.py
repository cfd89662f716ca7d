"""DeepSeek-OCR through PyTorch: a tiny model of its classes and calling convention, its pictures and its boxes."""

import functools
import importlib.util
import json
import unittest
from pathlib import Path
from typing import Any, Dict, List
from unittest import mock

from rooflens.runtimes.pytorch import deepseek_ocr, inputs, model
from rooflens.workload import dataset, pictures
from rooflens.workload.events import Events
from rooflens.workload.spec import Spec
from tests import models, support
from tests.support import annotations, needs_pictures, needs_vllm, passed, run_workload, temporary_folder

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures/models/deepseek-ocr-tiny/make.py"
PROMPT = "<image>\n<|grounding|>Convert the document to markdown."
ANSWER = "<|ref|>title<|/ref|><|det|>[[111, 222, 333, 444], [555, 666, 1200, 888]]<|/det|>\n# Kettles"


@functools.cache
def checkpoint() -> Path:
    specification = importlib.util.spec_from_file_location("make_deepseek_ocr", FIXTURE)
    maker = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(maker)
    folder = temporary_folder() / "deepseek-ocr"
    maker.make(folder)
    return folder


@functools.cache
def pages() -> Path:
    """A page that is cut into crops, one that is not, and one whose camera was held upright."""
    from PIL import Image

    folder = temporary_folder()
    page = Image.radial_gradient("L").convert("RGB")
    page.resize((1400, 700)).save(folder / "0-wide.png")
    page.resize((300, 200)).save(folder / "1-small.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    page.resize((400, 200)).save(folder / "2-turned.jpg", exif=exif)
    return folder


def changes(**more: Any) -> Dict[str, Any]:
    return {
        "model.path": str(checkpoint()), "model.name": "deepseek-ocr-tiny", "model.weights": "checkpoint",
        "model.trust_remote_code": True, "model.preprocess": {"base_size": 256}, "infer.max_new_tokens": 12,
        "infer.ignore_eos": False, "dataset.kind": "image", "dataset.root": str(pages()), "dataset.prompt": PROMPT,
        "dataset.patterns": ["*.png", "*.jpg"], "warmup_rounds": 0, "pipeline.direct_inference.max_new_tokens": 12,
        "pipeline.torch_profiler.max_new_tokens": 4, **more,
    }  # fmt: skip


@needs_pictures
class DeepseekOcr(unittest.TestCase):
    def test_parity_079_answers_with_boxes(self) -> None:
        outcome = passed("predict", changes(**{"runtime.batch_size": 2}))
        self.assertEqual(outcome.of("model")[0]["architecture"], "DeepseekOCRForCausalLM")
        answers = outcome.jsonl("predictions.jsonl")
        self.assertEqual([row["answer"] for row in answers], [ANSWER] * 3, "marks of boxes stay, the end does not")
        turned = answers[2]["picture"]
        self.assertEqual((turned["width"], turned["height"], turned["orientation"]), (200, 400, 6))
        self.assertTrue(turned["exif_transposed"])
        # A view of 256 pixels is 16 patches of a side, a crop of 640 is 40: two crops of the wide page alone.
        prefills = [row["pictures"] for row in outcome.steps() if row["phase"] == "prefill"]
        self.assertEqual(prefills, ["16x16 40x40 40x40 16x16", "16x16"])
        # 4 rows of 4 + 1 and a last one; and 10 rows of 20 + 1 for the crops. The prompt's own tokens besides.
        lengths = [row["prompt_tokens"] for row in outcome.jsonl("requests.jsonl")]
        self.assertEqual(lengths[0] - lengths[1], 210)
        self.assertEqual(lengths[1], lengths[2])

    def test_parity_079_the_same_tokens_as_generate(self) -> None:
        record = {"config": support.config(changes()), "project": "/", "pass": "measure"}
        spec = Spec.of({**record, "output": str(temporary_folder())})
        with Events.open(spec.output) as events:
            loaded = model.load(spec, events)
        batch = inputs.prepare(spec, loaded, dataset.load(spec)[:2], 12)
        self.assertIsNotNone(batch.mask, "the second prompt is shorter")
        with mock.patch.object(models, "loaded", lambda _kind: loaded):
            made = models.decode(spec, "", batch)
            generated = models.generate("", batch, 12, do_sample=False)
        for row, reference in zip(made.tokens, generated):
            self.assertEqual(row, reference[: len(row)])
        self.assertEqual(made.ended, [True, True])

    def test_parity_078_stages_in_a_trace(self) -> None:
        names = annotations(passed("torch_profiler", changes(**{"dataset.patterns": ["0-*.png"]})))
        # The crops, then the view of the whole.
        for stage in ("rooflens.vision.sam", "rooflens.vision.clip", "rooflens.projector"):
            self.assertEqual(names.count(stage), 2, stage)
        self.assertEqual(names.count("rooflens.prefill"), 1)
        decoded = [name for name in names if name.startswith("rooflens.decode")]
        self.assertEqual(decoded, ["rooflens.decode[1]", "rooflens.decode[2]", "rooflens.decode[3]"])

    def test_parity_019_settings_of_pictures(self) -> None:
        preprocess = {"base_size": 256, "image_size": 128, "crop_mode": False}
        outcome = passed("predict", changes(**{"model.preprocess": preprocess}))
        self.assertEqual({row["pictures"] for row in outcome.steps() if row["phase"] == "prefill"}, {"8x8"})
        for preprocess, message, help_ in (
            ({"min_pixels": 5}, "DeepSeek-OCR has no model.preprocess.min_pixels", "base_size, image_size, crop_mode"),
            ({"base_size": True}, "model.preprocess.base_size is True, not a whole number", "set model.preprocess"),
        ):
            outcome = run_workload("predict", changes(**{"model.preprocess": preprocess}))
            error = outcome.events[-1]
            self.assertNotEqual(outcome.code, 0)
            self.assertIn(message, json.dumps(error))
            self.assertIn(help_, json.dumps(error))

    def test_parity_019_a_processor_of_transformers_has_its_own(self) -> None:
        models.pictures(1)
        base = {
            "model.path": str(models.checkpoint("qwen2.5-vl")), "model.weights": "checkpoint", "dataset.kind": "image",
            "dataset.root": str(models.root()), "dataset.patterns": ["picture-0.png"], "warmup_rounds": 0,
        }
        sizes = []
        for preprocess in ({}, {"max_pixels": 28 * 28 * 2}):
            outcome = passed("predict", {**base, "model.preprocess": preprocess})
            picture = outcome.jsonl("predictions.jsonl")[0]["picture"]
            sizes.append((picture["input_width"], picture["input_height"]))
        self.assertEqual(sizes[0], (84, 56), "multiples of 28 stay as they are")
        self.assertLessEqual(sizes[1][0] * sizes[1][1], 28 * 28 * 2)
        outcome = run_workload("predict", {**base, "model.preprocess": {"base_size": 512}})
        self.assertNotEqual(outcome.code, 0)
        self.assertIn("has no model.preprocess.base_size", json.dumps(outcome.events[-1]))


@needs_pictures
class Upright(unittest.TestCase):
    def test_parity_123_every_orientation_is_seen_upright(self) -> None:
        from PIL import Image

        upright = Image.new("RGB", (48, 32))
        upright.putpixel((3, 5), (255, 255, 255))
        undo = [
            None, Image.Transpose.FLIP_LEFT_RIGHT, Image.Transpose.ROTATE_180, Image.Transpose.FLIP_TOP_BOTTOM,
            Image.Transpose.TRANSPOSE, Image.Transpose.ROTATE_90, Image.Transpose.TRANSVERSE,
            Image.Transpose.ROTATE_270,
        ]  # fmt: skip
        folder = temporary_folder()
        for orientation, transpose in enumerate(undo, start=1):
            stored = upright if transpose is None else upright.transpose(transpose)
            exif = Image.Exif()
            exif[0x0112] = orientation
            stored.save(folder / f"{orientation}.png", exif=exif)
            opened = pictures.open_upright(folder / f"{orientation}.png")
            self.assertEqual(opened.image.tobytes(), upright.tobytes(), orientation)
            record = opened.record
            self.assertEqual((record["width"], record["height"], record["orientation"]), (48, 32, orientation))


@needs_pictures
@needs_vllm
class AgainstVllm(unittest.TestCase):
    def test_parity_079_pictures_as_vllm_prepares_them(self) -> None:
        """Tokens, views and crops, against the processor that vLLM has for the model."""
        import torch
        from PIL import Image
        from transformers import AutoTokenizer
        from vllm.transformers_utils.processors.deepseek_ocr import DeepseekOCRProcessor

        tokenizer = AutoTokenizer.from_pretrained(checkpoint(), trust_remote_code=True)
        sizes = {"base_size": 1024, "image_size": 640}
        theirs = DeepseekOCRProcessor(tokenizer, max_crops=deepseek_ocr.CROPS[1], **sizes)
        ours = deepseek_ocr.DeepseekOcrProcessor(tokenizer)
        gradient = Image.radial_gradient("L").convert("RGB")
        shapes: List[Any] = [(300, 200), (640, 640), (641, 20), (1400, 700), (700, 1900), (1300, 1200), (2500, 2500)]
        for size in shapes:
            image = gradient.resize(size)
            have = ours(text=[PROMPT], images=[image], padding=True, return_tensors="pt", **sizes)
            want = theirs(prompt=PROMPT, images=[image], crop_mode=True)
            self.assertEqual(have["input_ids"].tolist(), want["input_ids"].tolist(), size)
            self.assertEqual(have["images_seq_mask"][0].tolist(), want["images_seq_mask"].tolist(), size)
            self.assertEqual(have["images_spatial_crop"].tolist(), want["images_spatial_crop"].tolist(), size)
            crops, view = have["images"][0]
            self.assertTrue(torch.allclose(view, want["pixel_values"], atol=1e-6), size)
            if len(want["images_crop"]):
                self.assertTrue(torch.allclose(crops, want["images_crop"], atol=1e-6), size)
            else:
                self.assertFalse(crops.any(), "zeros say that there are none")
