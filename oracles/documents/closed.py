"""A JSON Schema that allows only the keys that it names."""

from typing import Any

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
    """A schema that stands alone."""
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
