"""The cost check itself, on reports small enough to work out by hand."""

import unittest

import check_cost
from check_cost import Case, Workload


def flops(as_counted, useful=0):
    return {"flops": {"as_counted": as_counted, "useful": useful}}


def compared(case, as_counted=100, useful=0, classes=None, **params):
    totals = {**flops(as_counted, useful), "classes": classes or {}}
    report = {"totals": totals, "params": {"total": 10, "active": 8, "vision": None, **params}}
    return list(check_cost.compare(report, case, Workload([], 100, "prefill"), True))


class Differences(unittest.TestCase):
    def test_totals(self):
        case = Case("made", {}, [], {"total": 10, "active": 8, "tower": 5})
        self.assertEqual(compared(case, vision=5), [])
        lines = compared(case, as_counted=101, total=12, vision=6)
        self.assertEqual([line.split(":")[0] for line in lines], ["prefill flops.as_counted", "params.total", "params.vision"])

    def test_classes(self):
        # The golden's core holds the triangular solve, which torch does not count.
        full, causal = {"mlp": 60, "gdn.core": 37}, {"mlp": 60, "gdn.core": 37}
        golden = {"batch": 1, "seq": 4, "ref_full": full, "ref_causal_lastlogit": causal}
        case = Case("real", {}, [], {}, golden)
        right = {"mlp": flops(60, 60), "gdn.core": flops(30, 30), "gdn.solve": flops(0, 7)}
        self.assertEqual(compared(case, classes=right), [])
        self.assertEqual(len(compared(case, classes={**right, "mlp": flops(61, 60), "norm": flops(3)})), 2)

    def test_windows_are_useful_work_saved(self):
        # Four queries, a window of two: 1 + 2 + 2 + 2 pairs; a full layer: 1 + 2 + 3 + 4.
        config = {"sliding_window": 2, "num_attention_heads": 3, "head_dim": 5,
                  "layer_types": ["sliding_attention", "full_attention"]}
        golden = {"batch": 1, "seq": 4, "ref_causal_lastlogit": {"attn.core": 999}}
        self.assertEqual(check_cost.useful_flops(golden, config)["attn.core"], 4 * 17 * 3 * 5)


if __name__ == "__main__":
    unittest.main()
