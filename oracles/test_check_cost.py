"""The cost check itself, on reports small enough to work out by hand.

    python3 -m unittest discover -s oracles
"""

import json
import stat
import sys
import tempfile
import unittest
from pathlib import Path

import check_cost
from check_cost import Case, Workload


def flops(as_counted, useful=0):
    return {"flops": {"as_counted": as_counted, "useful": useful}}


def report(as_counted=100, total=10, active=10, classes=None, useful=0, **params):
    return {"totals": {**flops(as_counted, useful), "classes": classes or {}},
            "params": {"total": total, "active": active, **params}}


def compared(found, case, workload=Workload([], 100, "prefill"), first=True):
    return list(check_cost.compare(found, case, workload, first))


class Totals(unittest.TestCase):
    case = Case("made", {}, [], {"total": 10, "active": 8})

    def test_equal(self):
        self.assertEqual(compared(report(active=8), self.case), [])

    def test_a_difference_is_a_line_each(self):
        lines = compared(report(as_counted=101, total=12, active=8), self.case)
        self.assertEqual(lines, ["prefill flops.as_counted: 101, golden 100, by +1",
                                 "params.total: 12, golden 10, by +2"])

    def test_params_once_a_config(self):
        self.assertEqual(compared(report(total=12), self.case, first=False), [])

    def test_a_tower(self):
        case = Case("tower", {}, [], {"total": 10, "active": 8, "tower": 5})
        self.assertEqual(compared(report(total=10, active=8, vision=5), case), [])
        self.assertEqual(compared(report(total=10, active=8, vision=6), case),
                         ["params.vision: 6, golden 5, by +1"])


class Classes(unittest.TestCase):
    def lines(self, classes, full, causal, config=None, useful=0):
        golden = {"batch": 1, "seq": 4, "ref_full": full, "ref_causal_lastlogit": causal}
        case = Case("real", config or {}, [], {}, classes=golden)
        return compared(report(classes=classes, useful=useful), case)

    def test_by_class(self):
        classes = {"mlp": flops(60, 60), "attn.core": flops(40, 25)}
        full, causal = {"mlp": 60, "attn.core": 40}, {"mlp": 60, "attn.core": 25}
        self.assertEqual(self.lines(classes, full, causal, useful=85), [])
        self.assertEqual(self.lines(classes, full, causal, useful=86),
                         ["flops.useful: 86, golden 85, by +1"])

    def test_a_class_too_few_and_one_too_many(self):
        lines = self.lines({"norm": flops(3)}, {"mlp": 60}, {"mlp": 60}, useful=60)
        self.assertEqual(lines, ["classes[mlp].as_counted: None, golden 60",
                                 "classes[norm].as_counted: 3, golden has none"])

    def test_the_triangular_solve(self):
        # the golden's core holds the solve, which torch does not count
        classes = {"gdn.core": flops(30, 30), "gdn.solve": flops(0, 7)}
        self.assertEqual(self.lines(classes, {"gdn.core": 37}, {"gdn.core": 37}), [])

    def test_windows_are_useful_work_saved(self):
        # four queries, a window of two: 1 + 2 + 2 + 2 pairs; a full layer: 1 + 2 + 3 + 4
        config = {"sliding_window": 2, "num_attention_heads": 3, "head_dim": 5,
                  "layer_types": ["sliding_attention", "full_attention"]}
        golden = {"batch": 1, "seq": 4, "ref_causal_lastlogit": {"attn.core": 999}}
        self.assertEqual(check_cost.useful_flops(golden, config)["attn.core"], 4 * 17 * 3 * 5)


class Calls(unittest.TestCase):
    def test_options(self):
        prefill = check_cost.workload_of({"batch": 2, "prefill": 97, "flops": {"total": 5}})
        self.assertEqual((prefill.options, prefill.flops), (["--batch", "2", "--prefill", "97"], 5))
        decode = check_cost.workload_of({"batch": 1, "past": 64, "total": 7})
        self.assertEqual((decode.options, decode.flops), (["--batch", "1", "--context", "64"], 7))
        crossed = check_cost.workload_of({"batch": 1, "past": 64, "encoder_tokens": 5, "total": 7})
        self.assertEqual(crossed.options[2:], ["--context", "64", "--encoder-tokens", "5"])

    def test_a_binary_is_called_and_its_failure_is_a_line(self):
        with tempfile.TemporaryDirectory() as folder:
            fake = Path(folder) / "rooflens"
            fake.write_text(f"#!{sys.executable}\nimport json, sys\n"
                            "config = json.load(open(sys.argv[2]))\n"
                            "if config['broken']: sys.exit('error: no such family')\n"
                            f"print({json.dumps(report(active=8))!r})\n")
            fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
            workloads = [Workload(["--batch", "1", "--prefill", "64"], 100, "prefill 64")]
            good = Case("good", {"broken": 0}, workloads, {"total": 10, "active": 8})
            self.assertEqual(check_cost.check(fake, good)[1], [])
            bad = Case("bad", {"broken": 1}, workloads, {})
            self.assertEqual(check_cost.check(fake, bad)[1],
                             ["prefill 64: exit code 1, 'error: no such family'"])


if __name__ == "__main__":
    unittest.main()
