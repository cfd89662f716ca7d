"""Documents of a store: runs added, listed, checked, asked for, removed."""

from pathlib import Path

from documents.asking import FIXTURES, Asking


def check(asking: Asking) -> None:
    """Every command that speaks of a store, over two small runs."""
    store = asking.place()
    for name in ("kineto/decode.json", "kineto/two_ranks"):
        run = asking.place()
        asking.run("analyze", FIXTURES / name, "-o", run)
        asking.ask("store-added", "store", "add", run, "--store", store)
    listed = asking.ask("store-runs", "runs", store)
    folder_of_runs(asking)
    asking.ask("store-verified", "store", "verify", "--store", store)
    asking.ask("queries", "query", "--list")
    asking.ask("query", "query", "top-kernels", "--store", store)
    asking.ask("query", "query", "SELECT * FROM runs", "--store", store)
    asking.ask("store-changed", "store", "compact", "--store", store)
    if listed and listed["runs"]:
        asking.ask("store-runs", "store", "set", listed["runs"][0]["run_id"], "label=checked", "--store", store)
        asking.ask("store-removed", "store", "rm", listed["runs"][0]["run_id"], "--store", store)
    asking.ask("store-changed", "store", "retain", "--events", "1", "--store", store)
    asking.ask("store-vacuumed", "store", "vacuum", "--older-than", "0", "--store", store)


def folder_of_runs(asking: Asking) -> None:
    """The same commands over run directories: listed, tagged, deleted."""
    folder = asking.place()
    for name in ("kineto/decode.json", "kineto/two_ranks"):
        asking.run("analyze", FIXTURES / name, "-o", folder / Path(name).stem)
    asking.ask("store-runs", "runs", folder)
    asking.ask("store-runs", "runs", "tag", "decode", "two_ranks", "checked", "--in", folder)
    tags = folder / "decode/.rooflens/tags.json"
    asking.documents.text(tags.read_bytes(), str(tags), "tags")
    asking.ask("trend", "trend", folder, "--metric", "device_busy_share")
    asking.ask("comparison", "compare", folder, "--where", "tag=checked")
    asking.ask("store-runs", "runs", "untag", "decode", "checked", "--in", folder)
    asking.ask("runs-deleted", "runs", "delete", "decode", "--yes", "--in", folder)
