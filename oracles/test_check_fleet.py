"""What check_fleet.py itself rests on: differences are noticed."""

import unittest

from fleet import engines


class Differences(unittest.TestCase):
    COLUMNS = ["name", "value"]

    def test_differences_are_found(self):
        for a, b, said in (
            ([("a", 1), ("b", None)], [("a", 1.0), ("b", None)], None),
            ([("a", 0.1 + 0.2)], [("a", 0.3)], None),
            ([("a", 1)], [("a", 2)], "value: 1 and 2"),
            ([("a", 1.0)], [("a", 1.00000001)], "value: 1.0 and 1.00000001"),
            ([("a", None)], [("a", 0)], "None"),
            ([("a", 1)], [], "1 and 0 rows"),
            ([("a", 1), ("b", 1)], [("b", 1), ("a", 1)], "name"),
            # A relative bound alone would let whole nanoseconds of a large sum pass.
            ([("a", 10**15)], [("a", 10**15 + 1)], "value"),
        ):
            found = engines.difference((self.COLUMNS, a), (self.COLUMNS, b))
            self.assertTrue(found is None if said is None else said in found, (a, b, found))


class Scripts(unittest.TestCase):
    def test_statements(self):
        self.assertEqual(engines.statements("-- a\nSET x = 1;\n\n-- b\nSELECT ';' AS y;\n"), ["-- a\nSET x = 1", "-- b\nSELECT ';' AS y"])
