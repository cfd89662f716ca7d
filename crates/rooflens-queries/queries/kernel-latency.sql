-- title: Latency of a kernel by runtime version
-- about: Exact p50, p99 and mean duration of the calls of one kernel, by runtime and version. The kernel is given by
--   a part of its name or by its id; a part that several names share gives rows for each of them.
-- parameter: kernel text | Part of the kernel's name, in its own case, or its id.
-- parameter: since day = 0001-01-01 | First day, inclusive.
-- parameter: until day = 9999-12-31 | Last day, inclusive.
-- parameter: hardware text = | Only runs on this hardware; empty for all.
-- parameter: model text = | Only runs of this model; empty for all.
-- parameter: phase text = | Only calls in this phase, as `decode`; empty for all.
-- parameter: limit integer >= 1 = 50 | Maximum number of rows.
-- column: kernel_id id | Kernel, as in `kernel_dim`.
-- column: kernel text | Full name.
-- column: runtime word | Runtime; empty where it is not known.
-- column: runtime_version word | Its version; empty where it is not known.
-- column: runs count | Runs with calls of the kernel.
-- column: calls count | Calls.
-- column: p50_ns ns | Median duration.
-- column: p99_ns ns | 99th percentile of durations.
-- column: mean_ns ns | Mean duration.
-- reads: kernels, kernel_dim, runs
WITH wanted AS (
  SELECT d.kernel_id, min(d.name) AS kernel
  FROM kernel_dim d
  WHERE d.day >= :since AND d.day <= :until
    AND (position(:kernel IN d.name) > 0 OR as_text(d.kernel_id) = :kernel)
  GROUP BY d.kernel_id
),
versions AS (
  SELECT
    r.tenant,
    r.run_id,
    coalesce(r.runtime, '') AS runtime,
    coalesce(r.runtime_version, '') AS runtime_version
  FROM runs r
  WHERE r.day >= :since AND r.day <= :until
    AND (:hardware = '' OR r.hardware = :hardware)
    AND (:model = '' OR r.model = :model)
)
SELECT
  w.kernel_id AS kernel_id,
  w.kernel AS kernel,
  v.runtime AS runtime,
  v.runtime_version AS runtime_version,
  count(DISTINCT k.run_id) AS runs,
  count(*) AS calls,
  quantile(k.dur_ns * 1e0, 0.5) AS p50_ns,
  quantile(k.dur_ns * 1e0, 0.99) AS p99_ns,
  sum(k.dur_ns) * 1e0 / count(*) AS mean_ns
-- The wanted kernels are joined first: they are few, and all other calls are left out before runs are looked up.
FROM kernels k
JOIN wanted w ON w.kernel_id = k.kernel_id
JOIN versions v ON v.run_id = k.run_id AND v.tenant = k.tenant
WHERE k.day >= :since AND k.day <= :until
  AND (:phase = '' OR k.phase = :phase)
GROUP BY w.kernel_id, w.kernel, v.runtime, v.runtime_version
ORDER BY kernel, runtime, runtime_version, kernel_id
LIMIT :limit
