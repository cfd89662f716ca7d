"""One pass of a workload: reads its specification, runs it on a runtime, reports by events."""
