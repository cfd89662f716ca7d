"""The plain reader itself, on traces small enough to work out by hand."""

import json
import tempfile
import unittest
from pathlib import Path

import kineto_truth as truth


def event(category, name, ts, dur, tid=7, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": tid, "ts": ts, "dur": dur,
            "args": {"device": 0, "stream": tid, **args}}


def load(text: str) -> truth.Trace:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        path.write_text(text)
        return truth.load(path)


def trace(*events) -> truth.Trace:
    return load(json.dumps({"traceEvents": events}))


class Devices(unittest.TestCase):
    def test_unions_and_exposed_communication(self):
        # compute      10-----20        30---40
        # collective        15-----25
        # copy                            35-----50
        # a host call and an annotation change nothing
        found = trace(
            event("kernel", "gemm", 10, 10),
            event("kernel", "gemm", 30, 10),
            event("kernel", "ncclDevKernel_AllReduce", 15, 10, tid=20),
            event("gpu_memcpy", "Memcpy HtoD", 35, 15, tid=8),
            event("gpu_user_annotation", "step", 0, 100),
            event("cpu_op", "triton_0", 0, 100),
        )
        self.assertEqual(
            truth.devices([found])[0, 0],
            {"span_ns": 40_000, "busy_ns": 35_000, "idle_ns": 5_000, "compute_ns": 20_000,
             "communication_ns": 10_000, "exposed_communication_ns": 5_000, "copy_ns": 15_000},
        )

    def test_mtia_waits_are_not_work(self):
        found = trace(event("mtia_ccp_events", "event_wait", 0, 50),
                      event("mtia_ccp_events", "pe_exe", 50, 10),
                      event("mtia_ccp_events", "dma_request", 70, 5))
        times = truth.devices([found])[0, 0]
        self.assertEqual((times["span_ns"], times["idle_ns"]), (25_000, 10_000))
        self.assertEqual((times["compute_ns"], times["copy_ns"]), (10_000, 5_000))


class Operators(unittest.TestCase):
    def test_self_time(self):
        # linear 0----------------100
        #   addmm  10-----60            self 30
        #     copy    20-40             self 20
        #   view             70-80      self 10
        found = trace(event("cpu_op", "linear", 0, 100), event("cpu_op", "addmm", 10, 50),
                      event("cpu_op", "copy", 20, 20), event("cpu_op", "view", 70, 10))
        own = {name: row["self_ns"] for name, row in truth.operators([found]).items()}
        self.assertEqual(own, {"linear": 40_000, "addmm": 30_000, "copy": 20_000, "view": 10_000})

    def test_of_equal_intervals_the_first_is_the_caller(self):
        found = trace(event("cpu_op", "aten::to", 5, 3), event("cpu_op", "aten::_to_copy", 5, 3))
        own = {name: row["self_ns"] for name, row in truth.operators([found]).items()}
        self.assertEqual(own, {"aten::to": 0, "aten::_to_copy": 3_000})


class Reading(unittest.TestCase):
    def test_stamps_are_exact(self):
        # As a double this stamp is off by 35 ns.
        found = load('{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":0,'
                     '"ts":1712195495978941.965,"dur":1.001}]}')
        self.assertEqual(found.activities[0].interval, (1712195495978941965, 1712195495978942966))

    def test_a_cut_file_keeps_its_whole_events(self):
        text = json.dumps({"distributedInfo": {"rank": 3},
                           "traceEvents": [event("kernel", "k", n, 1) for n in range(5)]})
        found = load(text[: text.rindex('"ts"')])
        self.assertEqual((found.events, found.complete, found.rank), (4, False, 3))
