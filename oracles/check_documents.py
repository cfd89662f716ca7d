"""Whether the JSON documents that Rooflens prints and saves are what `rooflens schema` says, and nothing more.

    python oracles/check_documents.py --rooflens target/release/rooflens --blocks target/debug/examples/blocks_view

Every command that prints JSON is asked for it, on the fixtures and the corpus, and every JSON file of the runs and
analyses that they save is read. Each document is validated against the schema that it names. A key that no schema
names is an error, so that documents and schemas cannot drift apart, and so is a command or a schema without any
document. Real runs are validated by check_run.py. Needs jsonschema.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from documents import coverage, models, projects, stores, traces
from documents.asking import Asking
from documents.validate import Documents
from rooflens_cli import arguments, existing


def main() -> int:
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--blocks", type=existing, required=True, metavar="BIN", help="the example blocks_view")
    parser.add_argument("--only", choices=["traces", "models", "projects"], help="one part of the commands")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one of N files of the corpus")
    options = parser.parse_args()
    documents = Documents(options.rooflens)
    with tempfile.TemporaryDirectory() as folder:
        asking = Asking(options.rooflens, Path(folder), documents)
        parts = {
            "traces": lambda: traces.check(asking, options.corpus, options.every, options.blocks),
            "models": lambda: models.check(asking, options.corpus, options.every),
            "projects": lambda: projects.check(asking),
            "stores": lambda: stores.check(asking),
        }
        for name in [options.only] if options.only else parts:
            before, start = documents.seen.total(), time.monotonic()
            parts[name]()
            print(f"{name}: {documents.seen.total() - before} documents, {time.monotonic() - start:.1f} s", flush=True)
    wrong = documents.wrong
    if not options.only:
        wrong += asking.unasked() + coverage.uncovered(coverage.CHECK_DOCUMENTS, documents)
    for line in wrong[:60]:
        print(line)
    found = f"{documents.seen.total()} documents of {len(documents.seen)} schemas"
    print(f"check_documents: {found}, {len(wrong)} mistakes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
