-- title: Device time by kernel
-- about: Which kernels the device time of a range of days goes to, over all runs, ranks and phases: total time,
--   share of all device time that matches the filters, calls, and the mean, shortest and longest call.
-- parameter: since day = 0001-01-01 | First day, inclusive.
-- parameter: until day = 9999-12-31 | Last day, inclusive.
-- parameter: hardware text = | Only runs on this hardware; empty for all.
-- parameter: model text = | Only runs of this model; empty for all.
-- parameter: runtime text = | Only runs of this runtime; empty for all.
-- parameter: phase text = | Only this phase, as `decode`; empty for all.
-- parameter: limit integer >= 1 = 50 | Maximum number of rows.
-- column: kernel_id id | Kernel, as in `kernel_dim`.
-- column: kernel text | Full name.
-- column: class word | What it computes: gemm, attention, communication …
-- column: calls count | Calls.
-- column: device_ns ns | Total device time.
-- column: share share | Share of the device time of all kernels.
-- column: mean_ns ns | Mean time per call.
-- column: shortest_ns ns | Shortest call.
-- column: longest_ns ns | Longest call.
-- reads: kernel_hours, kernel_dim
WITH totals AS (
  SELECT
    h.kernel_id,
    sum(h.count) AS calls,
    sum(h.total_ns) AS device_ns,
    min(h.min_ns) AS shortest_ns,
    max(h.max_ns) AS longest_ns
  FROM kernel_hours h
  WHERE h.day >= :since AND h.day <= :until
    AND (:hardware = '' OR h.hardware = :hardware)
    AND (:model = '' OR h.model = :model)
    AND (:runtime = '' OR h.runtime = :runtime)
    AND (:phase = '' OR h.phase = :phase)
  GROUP BY h.kernel_id
),
names AS (
  SELECT d.kernel_id, min(d.name) AS kernel, min(d.class) AS kernel_class
  FROM kernel_dim d
  WHERE d.day >= :since AND d.day <= :until
  GROUP BY d.kernel_id
)
SELECT
  t.kernel_id AS kernel_id,
  n.kernel AS kernel,
  n.kernel_class AS class,
  CAST(t.calls AS BIGINT) AS calls,
  CAST(t.device_ns AS BIGINT) AS device_ns,
  t.device_ns * 1e0 / nullif(sum(t.device_ns) OVER (), 0) AS share,
  t.device_ns * 1e0 / nullif(t.calls, 0) AS mean_ns,
  t.shortest_ns AS shortest_ns,
  t.longest_ns AS longest_ns
FROM totals t
LEFT JOIN names n ON n.kernel_id = t.kernel_id
ORDER BY device_ns DESC, kernel_id
LIMIT :limit
