"""The loop makes the tokens that `model.generate` makes."""

import contextlib
import unittest
from typing import Any, Iterator

from rooflens.runtimes.pytorch import inputs
from tests import models
from tests.support import needs_pictures, needs_torch

NEW_TOKENS = 24


@contextlib.contextmanager
def without_eos(model: Any) -> Iterator[None]:
    """`generate` has no ignore_eos: it goes on when it knows no end-of-text token."""
    eos, model.generation_config.eos_token_id = model.generation_config.eos_token_id, None
    try:
        yield
    finally:
        model.generation_config.eos_token_id = eos


@needs_torch
class Greedy(unittest.TestCase):
    def check(self, kind: str, with_pictures: bool = False) -> None:
        spec = models.spec_for(kind, {"infer.max_new_tokens": NEW_TOKENS})
        loaded = models.loaded(kind)
        for size in (1, 3):
            with self.subTest(kind=kind, batch=size):
                samples = models.pictures(size) if with_pictures else models.texts(size)
                batch = inputs.prepare(spec, loaded, samples, NEW_TOKENS)
                self.assertEqual(batch.mask is None, size == 1, "a ragged batch is padded, a single one not")
                made = models.decode(spec, kind, batch)
                with without_eos(loaded.model):
                    expected = models.generate(kind, batch, NEW_TOKENS)
                self.assertEqual(made.tokens, expected)
                self.assertEqual(made.steps, NEW_TOKENS)
                distinct = len({tuple(row) for row in made.tokens})
                self.assertEqual(distinct, size, "different prompts are told apart")

    def test_models_of_text(self) -> None:
        for kind in ("llama", "qwen3-moe"):
            self.check(kind)

    @needs_pictures
    def test_models_that_see(self) -> None:
        for with_pictures in (False, True):
            self.check("qwen2.5-vl", with_pictures)


@needs_torch
class Choices(unittest.TestCase):
    def batch_of_three(self) -> Any:
        spec = models.spec_for("llama", {"infer.max_new_tokens": NEW_TOKENS})
        loaded = models.loaded("llama")
        return spec, loaded, inputs.prepare(spec, loaded, models.texts(3), NEW_TOKENS)

    def test_sampled_tokens_follow_from_the_seed(self) -> None:
        options = {"do_sample": True, "temperature": 0.7, "top_p": 0.95}
        changes = {f"infer.{key}": value for key, value in options.items()}
        spec = models.spec_for("llama", {**changes, "infer.max_new_tokens": NEW_TOKENS})
        loaded = models.loaded("llama")
        for size in (1, 3):
            batch = inputs.prepare(spec, loaded, models.texts(size), NEW_TOKENS)
            made = [models.decode(spec, "llama", batch, seed).tokens for seed in (5, 6)]
            with without_eos(loaded.model):
                expected = [models.generate("llama", batch, NEW_TOKENS, seed, **options) for seed in (5, 6)]
            self.assertEqual(made, expected)
            self.assertNotEqual(made[0], made[1])

    def test_the_models_own_generation_config_counts(self) -> None:
        spec, loaded, batch = self.batch_of_three()
        plain = models.decode(spec, "llama", batch).tokens
        loaded.model.generation_config.repetition_penalty = 1.5
        try:
            made = models.decode(spec, "llama", batch).tokens
            with without_eos(loaded.model):
                expected = models.generate("llama", batch, NEW_TOKENS)
        finally:
            loaded.model.generation_config.repetition_penalty = None
        self.assertEqual(made, expected)
        self.assertNotEqual(made, plain)

    def test_a_sequence_ends_where_generate_ends_it(self) -> None:
        going_on, loaded, batch = self.batch_of_three()
        # Whatever the second sequence says as its fifth token is declared to be the end of text.
        end = models.decode(going_on, "llama", batch).tokens[1][4]
        spec = models.spec_for("llama", {"infer.max_new_tokens": NEW_TOKENS, "infer.ignore_eos": False})
        eos, loaded.model.generation_config.eos_token_id = loaded.model.generation_config.eos_token_id, end
        try:
            made = models.decode(spec, "llama", batch)
            expected = models.generate("llama", batch, NEW_TOKENS)
        finally:
            loaded.model.generation_config.eos_token_id = eos
        pad = loaded.tokenizer.pad_token_id
        filled = [row + [pad] * (made.steps - len(row)) for row in made.tokens]
        self.assertEqual(filled, expected)
        self.assertTrue(made.ended[1])
        self.assertEqual(made.tokens[1][-1], end)
        self.assertLessEqual(len(made.tokens[1]), 5)
