"""Captures what happens inside an inference process, for `rooflens` to analyse outside it.

`rooflens.probe` marks the phases of a program of your own. `python -m rooflens.workload` is what
`rooflens run` starts. Nothing here imports torch before it is needed.
"""

__version__ = "0.1.0"
