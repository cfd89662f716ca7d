"""Validates JSON documents against the schemas that `rooflens schema` prints, and counts which were needed."""

import json
import subprocess
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any

from oracle import refuse

# Saved documents that do not name their schema: it follows from the name of the file.
BY_FILE = {"manifest.json": "manifest", "plan.json": "plan", "sampler.json": "sampler"}


def tag_of(document: Any) -> str | None:
    """The schema that a document itself names, as `analysis`."""
    tag = document.get("schema") if isinstance(document, dict) else None
    name = tag.get("name") if isinstance(tag, dict) else None
    return name.removeprefix("rooflens.") if isinstance(name, str) else None


def is_of_workload(path: Path) -> bool:
    """Whether a file of a run directory is what a workload is given or leaves, not a document of Rooflens."""
    return "raw" in path.parts and path.name not in BY_FILE


class Documents:
    """Every document that was validated, and what is wrong with it."""

    def __init__(self, binary: Path | None = None) -> None:
        # The program whose schemas count.
        self.binary = binary
        self.seen: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.validators: dict[str, Any] = {}

    def schema(self, *name: str) -> str:
        """The schema of a document, or the list of all documents."""
        argv = [str(self.binary), "schema", *name]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    @cached_property
    def names(self) -> set[str]:
        return {line.split()[0] for line in self.schema().splitlines()}

    def validator(self, name: str) -> Any:
        from jsonschema import Draft202012Validator

        if name not in self.validators:
            schema = json.loads(self.schema(name))
            Draft202012Validator.check_schema(schema)
            self.validators[name] = Draft202012Validator(closed(schema))
        return self.validators[name]

    def check(self, document: Any, where: str, expected: str | None = None) -> None:
        """One document: by the schema that it names, which must be the expected one, else by that."""
        name = tag_of(document) or expected
        if name is None:
            self.wrong.append(f"{where}: nothing says which schema it follows")
            return
        if expected not in (None, name):
            self.wrong.append(f"{where}: is a document `{name}`, not `{expected}`")
        self.follows(name, document, where)

    def follows(self, name: str, document: Any, where: str) -> None:
        if name not in self.names:
            self.wrong.append(f"{where}: there is no schema `{name}`")
            return
        self.seen[name] += 1
        errors = list(self.validator(name).iter_errors(document))
        for error in errors[:5]:
            place = "/".join(map(str, error.absolute_path))
            self.wrong.append(f"{where}: {name}: /{place}: {error.message[:300]}")

    def text(self, text: str | bytes, where: str, expected: str | None = None) -> Any:
        document = self.parse(text, where)
        if document is not None:
            self.check(document, where, expected)
        return document

    def parse(self, text: str | bytes, where: str) -> Any:
        try:
            return json.loads(text, parse_constant=refuse)
        except ValueError as error:
            self.wrong.append(f"{where}: {error}")
            return None

    def folder(self, folder: Path) -> int:
        """Every JSON file of a saved run or analysis; how many were documents."""
        before = self.seen.total()
        for path in sorted(folder.rglob("*.json")):
            if is_of_workload(path.relative_to(folder)):
                continue
            document = self.parse(path.read_bytes(), str(path))
            if path.parent.name == "findings":
                self.finding(document, path)
            elif document is not None:
                self.check(document, str(path), BY_FILE.get(path.name))
        return self.seen.total() - before

    def finding(self, document: Any, path: Path) -> None:
        """The finding of one analysis, which names the analysis."""
        if tag_of(document) != path.stem or set(document) != {"schema", path.stem}:
            self.wrong.append(f"{path}: is not the finding of the analysis that the file is called after")
        self.follows("finding", document, str(path))


# Keywords that apply further schemas to the same value.
MANY = ("allOf", "anyOf", "oneOf")
ONE = ("if", "then", "else")
OPEN = "~open"


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with every object closed: a key that it does not name is an error.

    An object whose keys come from several schemas (its own `properties` and those of a `$ref` or a `oneOf`) is
    closed as a whole, by `unevaluatedProperties`. Its parts then stay open, since each would refuse the keys of
    the others: they refer to copies of the `$defs` that are open at their top.
    """
    top = close({key: value for key, value in schema.items() if key != "$defs"})
    definitions = schema.get("$defs", {})
    if definitions:
        top["$defs"] = {name: close(part) for name, part in definitions.items()}
        top["$defs"] |= {name + OPEN: close_inside(part) for name, part in definitions.items()}
    return top


def close(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    if is_composed(schema):
        return {"unevaluatedProperties": False, **close_inside(schema)}
    found = {key: children(key, value, close) for key, value in schema.items()}
    if "properties" in schema:
        found.setdefault("additionalProperties", False)
    return found


def close_inside(schema: Any) -> Any:
    """A schema whose value has keys of other schemas, too: what is inside these keys is closed."""
    if not isinstance(schema, dict):
        return schema
    found = {key: children(key, value, close_inside) for key, value in schema.items()}
    if "$ref" in schema:
        found["$ref"] = schema["$ref"] + OPEN
    return found


def is_composed(schema: dict[str, Any]) -> bool:
    """Whether the keys of an object come from more than one schema. One `anyOf` or `oneOf` alone is a choice of
    schemas that each stand alone, as is one `$ref`."""
    sources = [key for key in ("properties", "$ref", *MANY, *ONE) if key in schema]
    return len(sources) > 1 or len(schema.get("allOf", [])) > 1


def children(key: str, value: Any, same_value: Any) -> Any:
    """The value of a keyword; `same_value` closes the schemas of the value that the keyword's own schema is of."""
    if key in MANY:
        return [same_value(part) for part in value]
    if key in ONE:
        return same_value(value)
    if key in ("properties", "patternProperties"):
        return {name: close(part) for name, part in value.items()}
    if key in ("items", "additionalProperties", "unevaluatedProperties", "contains"):
        return close(value)
    if key == "prefixItems":
        return [close(part) for part in value]
    return value
