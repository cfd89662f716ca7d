"""Which oracle validates documents of which schema. A schema that neither has is an error, and so is one that an
oracle lists but has seen no document of."""

from documents.validate import Documents

# Of real runs on PyTorch and vLLM.
CHECK_RUN = {"cost", "env", "finding", "hardware", "manifest", "model", "plan", "run", "sampler"}
# Of load tests of real servers.
CHECK_SERVING = {"bench", "bench-import", "comparison"}
# Of every command that needs no engine.
CHECK_DOCUMENTS = {
    "advice", "analysis", "assets-link", "assets-plan", "assets-readme", "assets-status", "assets-subset",
    "assets-variant", "assets-verify", "blocks", "comparison", "config", "config-groups", "config-migrated",
    "config-sweep", "config-written", "cost", "cost-sweep", "doctor", "env", "explanation", "externals-add",
    "externals-guard", "externals-staged", "externals-status", "externals-sync", "externals-update", "finding",
    "charts", "init", "kernel_profile", "list", "manifest", "model", "plan", "range_kernels", "run", "run-sweep", "runs-deleted", "sample", "sampler",
    "queries", "query", "samples", "samples-line", "self-test", "store-added", "store-changed", "store-removed", "store-runs",
    "store-vacuumed", "store-verified", "tags", "timeline", "top_kernels", "trend",
}  # fmt: skip

ALL = CHECK_RUN | CHECK_DOCUMENTS | CHECK_SERVING


def uncovered(listed: set[str], documents: Documents) -> list[str]:
    """What is wrong with the list of an oracle, after it has seen these documents."""
    found = [f"{name}: no document of this schema was validated" for name in sorted(listed - set(documents.seen))]
    found += [f"{name}: listed, but there is no such schema" for name in sorted(ALL - documents.names)]
    unlisted = sorted(documents.names - ALL)
    return found + [f"{name}: no oracle lists this schema: see oracles/documents/coverage.py" for name in unlisted]
