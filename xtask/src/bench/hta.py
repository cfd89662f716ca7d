"""Load a trace with HTA and ask for its two breakdowns: what `rooflens analyze` is measured against."""

import logging
import sys
import warnings

logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")

from hta.trace_analysis import TraceAnalysis  # noqa: E402

trace = TraceAnalysis(trace_files={0: sys.argv[1]}, include_last_profiler_step=True)
trace.get_temporal_breakdown(visualize=False)
trace.get_gpu_kernel_breakdown(visualize=False)
