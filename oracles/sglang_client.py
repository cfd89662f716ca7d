#!/usr/bin/env python3
"""SGLang's Rust client without SGLang: loads the extension of its wheel (first argument) and hands on the others."""

import importlib.util
import sys


def main():
    spec = importlib.util.spec_from_file_location("_bench", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        module.run_argv(["sglang-bench", *sys.argv[2:]])
    except SystemExit as ending:
        return int(ending.code or 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
