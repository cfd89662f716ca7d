"""The check of documents itself, on schemas and documents that are wrong on purpose."""

import json
import tempfile
import unittest
from pathlib import Path

from documents import coverage
from documents.asking import commands_with_json
from documents.validate import Documents, closed, tag_of
from jsonschema import Draft202012Validator

TEXT = {"type": "string"}
POINT = {"type": "object", "properties": {"x": TEXT}, "required": ["x"]}
# A point under each keyword that leads to a schema.
SCHEMA = {
    "type": "object",
    "properties": {
        "plain": POINT,
        "list": {"type": "array", "items": POINT},
        "pair": {"type": "array", "prefixItems": [POINT]},
        "map": {"type": "object", "additionalProperties": POINT},
        "reference": {"description": "A point.", "$ref": "#/$defs/Point"},
        "either": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]},
        "tagged": {"$ref": "#/$defs/Tagged"},
        "both": {"allOf": [{"$ref": "#/$defs/Point"}, {"$ref": "#/$defs/Named"}]},
        "tree": {"$ref": "#/$defs/Tree"},
        "anything": {"description": "Any JSON."},
    },
    "$defs": {
        "Point": POINT,
        "Named": {"type": "object", "properties": {"name": TEXT, "at": {"$ref": "#/$defs/Point"}}},
        # As schemars writes a flattened enum whose variants have a type of their own.
        "Tagged": {
            "type": "object",
            "properties": {"id": TEXT},
            "oneOf": [
                {"properties": {"kind": {"const": "point"}}, "required": ["kind"], "$ref": "#/$defs/Point"},
                {"properties": {"kind": {"const": "named"}}, "required": ["kind"], "$ref": "#/$defs/Named"},
            ],
        },
        "Tree": {
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
            "anyOf": [{"$ref": "#/$defs/Point"}, {"$ref": "#/$defs/Named"}],
        },
    },
}
# Each key with a value that the schema allows, and values with a key or a place that it does not name.
CASES = {
    "plain": ({"x": "1"}, [{"x": "1", "y": "2"}]),
    "list": ([{"x": "1"}, {"x": "2"}], [[{"x": "1"}, {"x": "2", "y": "2"}]]),
    "pair": ([{"x": "1"}, 3], [[{"x": "1", "y": "2"}]]),
    "map": ({"any": {"x": "1"}}, [{"any": {"x": "1", "y": "2"}}]),
    "reference": ({"x": "1"}, [{"x": "1", "y": "2"}]),
    "either": (None, [{"x": "1", "y": "2"}]),
    "tagged": ({"id": "a", "kind": "named", "name": "1", "at": {"x": "1"}}, [
        {"id": "a", "kind": "point", "x": "1", "y": "2"},
        {"id": "a", "kind": "point", "x": "1", "name": "of the other variant"},
        {"id": "a", "kind": "named", "name": "1", "at": {"x": "1", "y": "2"}},
    ]),
    "both": ({"x": "1", "name": "a"}, [{"x": "1", "name": "a", "y": "2"}, {"x": "1", "at": {"x": "1", "y": "2"}}]),
    "tree": ({"x": "1", "children": [{"name": "a", "children": []}]}, [{"x": "1", "children": [{"name": "a", "y": "2"}]}]),
    "anything": ({"any": {"key": 1}}, []),
}


class Closed(unittest.TestCase):
    def test_only_what_is_named_is_allowed(self):
        opened, validator = Draft202012Validator(SCHEMA), Draft202012Validator(closed(SCHEMA))
        self.assertFalse(validator.is_valid({"other": 1}))
        for key, (right, wrong) in CASES.items():
            self.assertEqual([error.message for error in validator.iter_errors({key: right})], [], key)
            for value in wrong:
                self.assertTrue(opened.is_valid({key: value}), value)
                self.assertFalse(validator.is_valid({key: value}), value)

    def test_other_mistakes_are_refused_as_before(self):
        validator = Draft202012Validator(closed(SCHEMA))
        for document in ({"plain": {}}, {"reference": {"x": 1}}, {"tagged": {"id": "a", "x": "1"}}, {"both": {}}):
            self.assertFalse(validator.is_valid(document), document)


class Known(Documents):
    """Documents of three schemas, which no program prints."""

    def schema(self, *name: str) -> str:
        return json.dumps(POINT) if name else "finding  saved\nlist     printed\ntrend    printed\n"


class Naming(unittest.TestCase):
    def test_a_document_names_its_schema(self):
        self.assertEqual(tag_of({"schema": {"name": "rooflens.run", "version": "1.0"}}), "run")
        for other in ([], {}, {"schema": 1}, {"schema_version": 1}):
            self.assertIsNone(tag_of(other))

    def test_another_document_than_was_asked_for_is_a_mistake(self):
        documents = Known()
        listing = {"schema": {"name": "rooflens.list", "version": "1.0"}, "x": "1"}
        documents.check(listing, "here", "doctor")
        self.assertIn("is a document `list`, not `doctor`", documents.wrong[0])
        documents.check({"schema": {"name": "rooflens.none", "version": "1.0"}}, "here")
        self.assertIn("there is no schema `none`", documents.wrong[-1])
        documents.check({"steps": []}, "here")
        self.assertIn("nothing says which schema", documents.wrong[-1])
        documents.text("{", "here")
        documents.text('{"a": NaN}', "here")
        self.assertIn("NaN is not JSON", documents.wrong[-1])

    def test_a_file_that_follows_no_schema_is_a_mistake(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("report/other.json", "findings/kernels.json", "raw/measure/spec.json"):
                path = Path(folder, name)
                path.parent.mkdir(parents=True)
                path.write_text('{"schema": {"name": "rooflens.gaps", "version": "1.0"}, "gaps": []}')
            documents = Known()
            self.assertEqual(documents.folder(Path(folder)), 1)
        places = [line.split(": ", 1) for line in documents.wrong]
        self.assertTrue(any("findings" in path and "called after" in said for path, said in places), places)
        self.assertTrue(any("other.json" in path and "no schema" in said for path, said in places), places)


class Coverage(unittest.TestCase):
    def test_a_schema_without_a_document_or_a_list_is_a_mistake(self):
        documents = Known()
        documents.names = set(coverage.ALL)
        documents.seen.update(coverage.CHECK_DOCUMENTS - {"trend"})
        self.assertEqual(coverage.uncovered(coverage.CHECK_DOCUMENTS, documents),
                         ["trend: no document of this schema was validated"])
        documents.names |= {"new"}
        self.assertIn("no oracle lists", coverage.uncovered(set(), documents)[0])
        documents.names -= {"new", "trend"}
        self.assertIn("no such schema", coverage.uncovered(set(), documents)[0])

    def test_commands_are_found_in_the_reference(self):
        commands = commands_with_json()
        self.assertTrue({"analyze", "kernels top", "assets variant", "monitor"} <= commands, commands)
        self.assertFalse({"man", "kernels profile", "report", "assets"} & commands, commands)
