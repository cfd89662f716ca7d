"""Samples that are lines of JSONL files."""

import gzip
import json
import shutil
import unittest
from pathlib import Path
from typing import Any, Dict, List

from rooflens.workload import dataset
from rooflens.workload.errors import WorkloadError
from rooflens.workload.spec import Spec
from tests.support import SKELETON, config, needs_torch, run_workload, temporary_folder

KEYS = {"dataset.kind": "jsonl", "dataset.patterns": ["*.jsonl", "*.jsonl.gz"]}
TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def load(files: Dict[str, bytes], **keys: Any) -> List[dataset.Sample]:
    root = temporary_folder()
    for name, data in files.items():
        (root / name).write_bytes(data)
    changes = {**KEYS, "dataset.root": str(root), **{f"dataset.{key}": value for key, value in keys.items()}}
    record = {"config": config(changes), "project": str(root), "pass": "measure", "output": str(root / "out")}
    return dataset.load(Spec.of(record))


class Lines(unittest.TestCase):
    def test_parity_053_each_line_is_a_sample_named_by_file_and_line(self) -> None:
        first = lines({"prompt": "one", "id": 7}) + b"\n" + lines({"prompt": "a\u2028b"})
        samples = load({"a.jsonl": first, "b.jsonl.gz": gzip.compress(lines({"prompt": "three"}))})
        found = [(sample.id, sample.text) for sample in samples]
        # A blank line counts, so that an editor finds the line; U+2028 within a string ends none.
        self.assertEqual(found, [("a.jsonl:1", "one"), ("a.jsonl:3", "a\u2028b"), ("b.jsonl.gz:1", "three")])
        self.assertEqual({sample.messages is None for sample in samples}, {True})

    def test_parity_053_the_field_may_be_within_an_object(self) -> None:
        record = {"request": {"text": "inner"}, "a.b": "literal", "a": {"b": "nested"}}
        self.assertEqual(load({"a.jsonl": lines(record)}, field="request.text")[0].text, "inner")
        self.assertEqual(load({"a.jsonl": lines(record)}, field="a.b")[0].text, "literal")

    def test_parity_053_a_file_list_chooses_the_files(self) -> None:
        files = {"a.jsonl": lines({"prompt": "one"}), "b.jsonl": lines({"prompt": "two"})}
        files["list.txt"] = b"b.jsonl\n"
        self.assertEqual([sample.id for sample in load(files, filelist="list.txt")], ["b.jsonl:1"])

    def test_parity_053_messages_become_a_chat(self) -> None:
        parts = [{"type": "text", "text": "two "}, {"type": "text", "text": "parts"}]
        chat = [{"role": "system", "content": "be kind"}, {"role": "user", "content": parts}]
        sample = load({"a.jsonl": lines({"messages": chat})}, field="messages")[0]
        self.assertEqual(sample.messages, [chat[0], {"role": "user", "content": "two parts"}])
        self.assertEqual(sample.text, "system: be kind\nuser: two parts")

    def test_parity_053_a_bad_line_is_told_with_its_place_and_field(self) -> None:
        good = lines({"prompt": "one"})
        picture = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]
        for bad, fact, hint in [
            (b"{", "a.jsonl:2 is not JSON", "JSON object"),
            (b"\xff\xfe", "a.jsonl:2 is not JSON", "JSON object"),
            (b"[" * 100_000, "a.jsonl:2 is not JSON", "JSON object"),
            (lines({"text": "x", "id": 1}), "a.jsonl:2 has no field 'prompt'", "it has: id, text"),
            (b"[1]", "a.jsonl:2 has no field 'prompt'", "it has: a list"),
            (lines({"prompt": 3}), "a.jsonl:2: prompt is a number", "dataset.field"),
            (lines({"prompt": None}), "a.jsonl:2: prompt is null", "dataset.field"),
            (lines({"prompt": ""}), "a.jsonl:2: prompt is empty", "remove"),
            (lines({"prompt": []}), "a.jsonl:2: prompt is empty", "remove"),
            (b'{"prompt": "\\ud800"}', "a.jsonl:2: prompt has half of a surrogate pair", "remove"),
            (lines({"prompt": picture}), "a.jsonl:2: prompt has an item", '"role"'),
            (lines({"prompt": [{"role": "user", "content": "x"}]}), "a.jsonl:2 is a chat, that of", ""),
        ]:
            with self.subTest(bad=bad[:40]), self.assertRaises(WorkloadError) as raised:
                load({"a.jsonl": good + bad})
            self.assertIn(fact, str(raised.exception))
            self.assertIn(hint, raised.exception.hint)

    def test_parity_053_a_damaged_archive_is_told(self) -> None:
        for data in (b"no gzip", gzip.compress(lines({"prompt": "x"}))[:-9]):
            with self.assertRaises(WorkloadError) as raised:
                load({"a.jsonl.gz": data})
            self.assertIn("a.jsonl.gz", str(raised.exception))


class Runs(unittest.TestCase):
    def project(self, *records: Any, template: str = "") -> Path:
        project = temporary_folder() / "project"
        shutil.copytree(SKELETON, project)
        (project / "datasets/lines").mkdir()
        (project / "datasets/lines/samples.jsonl").write_bytes(lines(*records))
        path = project / "models/tiny-random/tokenizer_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "chat_template": template or None}))
        return project

    KEYS = {**KEYS, "dataset.root": "datasets/lines", "infer.max_new_tokens": 2, "warmup_rounds": 0}

    @needs_torch
    def test_parity_053_a_run_measures_every_line(self) -> None:
        project = self.project({"prompt": "How far is the moon?"}, {"prompt": "And the sun?"})
        outcome = run_workload("measure", self.KEYS, project)
        self.assertEqual(outcome.code, 0, outcome.stderr)
        samples = [row["sample"] for row in outcome.jsonl("requests.jsonl")]
        self.assertEqual(samples, ["samples.jsonl:1", "samples.jsonl:2"])
        self.assertEqual(outcome.of("dataset")[0]["samples"], 2)

    @needs_torch
    def test_parity_053_the_chat_template_renders_messages(self) -> None:
        chat = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"}]
        keys = {**self.KEYS, "dataset.field": "messages"}
        outcome = run_workload("measure", keys, self.project({"messages": chat}, template=TEMPLATE))
        self.assertEqual(outcome.code, 0, outcome.stderr)
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(SKELETON / "models/tiny-random")
        wanted = tokenizer("<system>be kind<user>hello<assistant>", add_special_tokens=False).input_ids
        self.assertEqual(outcome.jsonl("tokens.jsonl")[0]["prompt_ids"], wanted)
        outcome = run_workload("measure", keys, self.project({"messages": chat}))
        self.assertEqual(outcome.code, 1)
        message = outcome.events[-1]["message"]
        self.assertIn("samples.jsonl:1 is a chat, but the model's tokenizer has no chat template", message)
