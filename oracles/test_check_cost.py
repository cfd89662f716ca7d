"""The cost check itself, on reports small enough to work out by hand."""

import unittest

import check_cost


def flops(as_counted, useful=0):
    return {"flops": {"as_counted": as_counted, "useful": useful}}


class Differences(unittest.TestCase):
    def test_classes_and_totals(self):
        golden = {"batch": 1, "seq": 4, "oracle_flops": 100, "ref_full": {"mlp": 60, "gdn.core": 37},
                  "ref_causal_lastlogit": {"mlp": 60, "gdn.core": 37}}
        right = {"mlp": flops(60, 60), "gdn.core": flops(30, 30), "gdn.solve": flops(0, 7)}
        self.assertEqual(list(check_cost.compare({**flops(100), "classes": right}, golden, {})), [])
        wrong = {**right, "mlp": flops(61, 60), "norm": flops(3)}
        self.assertEqual(len(list(check_cost.compare({**flops(101), "classes": wrong}, golden, {}))), 3)

    def test_windows_are_useful_work_saved(self):
        # Four queries, a window of two: 1 + 2 + 2 + 2 pairs; a full layer: 1 + 2 + 3 + 4.
        config = {"sliding_window": 2, "num_attention_heads": 3, "head_dim": 5,
                  "layer_types": ["sliding_attention", "full_attention"]}
        golden = {"batch": 1, "seq": 4, "ref_causal_lastlogit": {"attn.core": 999}}
        self.assertEqual(check_cost.useful_flops(golden, config)["attn.core"], 4 * 17 * 3 * 5)
