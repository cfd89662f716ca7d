"""Runs a program whose `assert_type` looks at values: prints each that is not of the claimed type.

    python typed_at_run_time.py PROGRAM ARGUMENTS...
"""

import runpy
import sys
import typing


def is_a(value: object, kind: object) -> bool:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is typing.Any:
        return True
    if origin is typing.Union:
        return any(is_a(value, one) for one in inner)
    if origin is list:
        return type(value) is list and all(is_a(item, inner[0]) for item in value)
    if origin is dict:
        return type(value) is dict and all(is_a(key, inner[0]) and is_a(item, inner[1]) for key, item in value.items())
    return isinstance(value, kind) and (kind is not int or not isinstance(value, bool))


def checked(value, kind):
    if not is_a(value, kind):
        line = sys._getframe(1).f_lineno
        print(f"{sys.argv[0]}:{line}: {str(value)[:80]!r} is {type(value).__name__}, and the stubs say {kind}")
    return value


typing.assert_type = checked
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
