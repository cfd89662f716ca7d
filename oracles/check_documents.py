"""Whether the JSON documents that Rooflens prints and saves are what `rooflens schema` says, and nothing more.

Every command that prints JSON is asked for it, on the fixtures and the corpus, and every JSON file of the runs and
analyses that they save is read. Each document is validated against the schema that it names. A key that no schema
names is an error, so that documents and schemas cannot drift apart, and so is a command or a schema without any
document. Real runs are validated by check_run.py. Needs jsonschema.
"""

from pathlib import Path

from documents import commands, coverage
from documents.asking import Asking
from documents.validate import Documents
from oracle import main, needs, option


def check_all(judge, args, folder: Path) -> None:
    documents = Documents(args.rooflens)
    asking = Asking(args.rooflens, folder, documents)
    parts = {
        "traces": lambda: commands.traces(asking, args.corpus, args.every, args.blocks),
        "models": lambda: commands.models(asking, args.corpus, args.every),
        "projects": lambda: commands.projects(asking),
        "stores": lambda: commands.stores(asking),
    }
    for name, ask in parts.items():
        before, wrong = documents.seen.total(), len(documents.wrong)
        ask()
        judge.check(name, documents.wrong[wrong:], f"{documents.seen.total() - before} documents")
    judge.check("every command was asked", asking.unasked())
    judge.check("every schema has documents", coverage.uncovered(coverage.CHECK_DOCUMENTS, documents))


if __name__ == "__main__":
    every = option("--every", type=int, default=1, metavar="N", help="one of N files of the corpus")
    main(check_all, needs("--blocks", "the example blocks_view"), every)
