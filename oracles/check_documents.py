"""Whether the JSON documents that Rooflens prints are what docs/reference/schemas says, and nothing more.

    python oracles/check_documents.py --rooflens target/release/rooflens [--corpus DIR]

Analyzes the fixtures and every trace of the corpus, and validates each document against the schema generated
from the types. A key that no schema names is an error here, so that documents and schemas cannot drift apart.
Needs jsonschema.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "docs/reference/schemas"
FIXTURES = ("kineto", "nsys", "nccl", "rocpd", "rocprofv3", "tensorrt", "torchmem", "trtexec", "blaslog", "metrics")
CORPUS = ("kineto", "nsys", "rocm", "tensorrt", "torchmem", "logs")


def closed(schema: Any) -> Any:
    """The schema with every object closed: only the keys that it names are allowed."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(part) for key, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        found["additionalProperties"] = False
    return found


def inputs(corpus: Path) -> Iterator[Path]:
    folders = [ROOT / "fixtures" / name for name in FIXTURES] + [corpus / name for name in CORPUS]
    for folder in folders:
        yield from sorted(path for path in folder.rglob("*") if path.is_file())


def main() -> int:
    from jsonschema import Draft202012Validator

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooflens", required=True)
    beside = os.environ.get("ROOFLENS_CORPUS", ROOT.parent / "shared/data")
    parser.add_argument("--corpus", type=Path, default=Path(beside))
    arguments = parser.parse_args()

    schema = closed(json.loads((SCHEMAS / "analysis.schema.json").read_text(encoding="utf-8")))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    documents, wrong = 0, 0
    for path in inputs(arguments.corpus):
        command = [arguments.rooflens, "--quiet", "analyze", str(path), "--format", "json"]
        ended = subprocess.run(command, capture_output=True, check=False)
        if ended.returncode != 0:
            continue  # Not an input: what is refused is another check's.
        documents += 1
        errors = list(validator.iter_errors(json.loads(ended.stdout)))
        wrong += bool(errors)
        for error in errors[:5]:
            print(f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")
    print(f"{documents} documents, {wrong} that their schema does not describe")
    return 1 if wrong or not documents else 0


if __name__ == "__main__":
    sys.exit(main())
