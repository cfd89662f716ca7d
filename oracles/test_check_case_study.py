"""The check of the case study itself, on numbers that are wrong on purpose. Needs neither binary nor corpus."""

import json
import unittest

import check_case_study as case

DOCUMENT = {
    "phases": [{"wall_ns": 2_000_000, "share": 0.253, "classes": {"attn.core": {"share": 0.052}}}],
    "kernels": [{"name": "a", "total_ns": 3000.0, "dram_pct": 19.66}, {"name": "b", "total_ns": None, "dram_pct": None}],
    "gain_ns": {"low": 1500.0},
}

PAGE = """```sh
rooflens advise x
```

| what | | in `--format json` |
| --- | ---: | --- |
| right | 2.0 ms | `phases[0].wall_ns` |
| wrong | 2.1 ms | `phases[0].wall_ns` |
| gone | 1 | `phases[0].nothing` |
"""


class Numbers(unittest.TestCase):
    def test_a_number_with_its_last_digit(self):
        self.assertEqual(case.quoted("1,219"), (1219.0, 0.5))
        shown, step = case.quoted("676.9 µs")
        self.assertAlmostEqual(shown, 676.9e-6)
        self.assertAlmostEqual(step, 0.05e-6)
        self.assertAlmostEqual(case.quoted("-9.3 %")[0], -0.093)
        self.assertRaises(ValueError, case.quoted, "3 parsecs")

    def test_paths_and_units(self):
        for where, expected in [
            ("phases[0].wall_ns / 64", 2e-3 / 64),
            ("1 - phases[0].share", 0.747),
            ('phases[0].classes["attn.core"].share', 0.052),
            ("kernels[name=a].dram_pct", 0.1966),
            ("kernels[name~a,dram_pct=19.66].total_ns", 3e-6),
            ("count(kernels[total_ns=null])", 1),
            ("sum(kernels[name=a].total_ns) / (0.5 + 0.5)", 3e-6),
            ("gain_ns.low", 1.5e-6),
        ]:
            self.assertAlmostEqual(case.computed(DOCUMENT, where), expected, msg=where)
        for where in ["kernels[*].name", "kernels[name=b].total_ns", "kernels[name=c].total_ns", "__import__('os')"]:
            self.assertRaises((ValueError, KeyError), case.computed, DOCUMENT, where)

    def test_what_a_command_prints(self):
        self.assertEqual(case.printed("  9 memory_bound\n  7 balanced\n", "memory_bound"), 9)
        self.assertRaises(ValueError, case.printed, "a 1\na 2\n", "a")


class Page(unittest.TestCase):
    def test_parity_142_a_wrong_number_is_found(self):
        table = case.checked(PAGE)[0]
        self.assertEqual(case.command(table.block, True), "rooflens advise x --format json")
        lines = list(case.differences(table, json.dumps(DOCUMENT)))
        self.assertEqual([line.split(":")[0] for line in lines], ["line 8", "line 9"])
        self.assertIn("the page has 2.1 ms", lines[0])
