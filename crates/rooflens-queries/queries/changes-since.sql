-- title: What changed since a release
-- about: Compares the runs of a release, named by their label, build or version, with the runs of builds that first
--   appeared after it, of the same runtime, per hardware, model and runtime: kernels that appeared or vanished, with their share
--   of device time on the side that has them, and the medians of all metrics. A kernel that was renamed shows as one
--   that vanished and one that appeared, of the same class and about the same share. Runs without a start time are
--   left out.
-- parameter: release text | The release: `label`, `runtime_build` or `runtime_version` of its runs.
-- parameter: since day = 0001-01-01 | First day, inclusive.
-- parameter: until day = 9999-12-31 | Last day, inclusive.
-- parameter: hardware text = | Only runs on this hardware; empty for all.
-- parameter: model text = | Only runs of this model; empty for all.
-- parameter: min_share number >= 0 = 0 | Leave out kernels with a smaller share of device time.
-- parameter: limit integer >= 1 = 500 | Maximum number of rows.
-- column: hardware word | Hardware; empty where it is not known.
-- column: model text | Model; empty where it is not known.
-- column: runtime word | Runtime; empty where it is not known.
-- column: change word | `appeared` or `vanished` for a kernel, `metric` for a metric.
-- column: name text | Full name of the kernel, or the metric's key.
-- column: class word | What the kernel computes; empty for a metric.
-- column: runs_before count | Runs of the release that have the kernel or metric.
-- column: runs_since count | Later runs that have the kernel or metric.
-- column: value_before share or unit of the metric | Share of device time before, or median of the metric.
-- column: value_since share or unit of the metric | Share of device time since, or median of the metric.
-- column: ratio ratio | Median since / median before; null for a kernel.
-- reads: kernel_rollup, run_metrics, runs, kernel_dim
-- needs: Runs that say when they began, both of the release and of a later build of the same runtime.
WITH first_seen AS (
  SELECT
    r.day, r.tenant, r.run_id, r.start_unix_ns,
    coalesce(r.hardware, '') AS hardware,
    coalesce(r.model, '') AS model,
    coalesce(r.runtime, '') AS runtime,
    CASE
      WHEN r.label = :release OR r.runtime_build = :release OR r.runtime_version = :release THEN 1
      ELSE 0
    END AS is_release,
    min(r.start_unix_ns) OVER (
      PARTITION BY coalesce(r.runtime, ''), coalesce(r.runtime_version, ''), coalesce(r.runtime_build, '')
    ) AS build_start_ns
  FROM runs r
  -- Of all days: a build that first ran before them is not new.
  WHERE r.start_unix_ns IS NOT NULL
),
dated AS (
  SELECT
    f.day, f.tenant, f.run_id, f.hardware, f.model, f.runtime, f.is_release, f.build_start_ns,
    min(CASE WHEN f.is_release = 1 THEN f.start_unix_ns END) OVER (PARTITION BY f.runtime) AS release_start_ns
  FROM first_seen f
),
sides AS (
  SELECT d.tenant, d.run_id, d.hardware, d.model, d.runtime, d.is_release AS is_before, 1 - d.is_release AS is_since
  FROM dated d
  WHERE d.day >= :since AND d.day <= :until
    AND (d.is_release = 1 OR d.build_start_ns > d.release_start_ns)
    AND (:hardware = '' OR d.hardware = :hardware)
    AND (:model = '' OR d.model = :model)
),
-- What each run has: kernels by their calls and time, metrics by their value.
facts AS (
  SELECT
    k.tenant, k.run_id, k.kernel_id, '' AS metric, sum(k.count) AS calls, sum(k.total_ns) AS device_ns,
    CAST(NULL AS DOUBLE) AS value
  FROM kernel_rollup k
  WHERE k.day >= :since AND k.day <= :until
  GROUP BY k.tenant, k.run_id, k.kernel_id
  UNION ALL
  SELECT
    m.tenant, m.run_id, CAST(0 AS BIGINT) AS kernel_id, m.metric, CAST(0 AS BIGINT) AS calls,
    CAST(0 AS BIGINT) AS device_ns, m.value
  FROM run_metrics m
  WHERE m.day >= :since AND m.day <= :until AND m.value IS NOT NULL
),
compared AS (
  SELECT
    s.hardware, s.model, s.runtime, f.kernel_id, f.metric,
    sum(f.calls * s.is_before) AS calls_before,
    sum(f.calls * s.is_since) AS calls_since,
    sum(f.device_ns * s.is_before) AS ns_before,
    sum(f.device_ns * s.is_since) AS ns_since,
    sum(s.is_before) AS runs_before,
    sum(s.is_since) AS runs_since,
    quantile(CASE WHEN s.is_before = 1 THEN f.value END, 0.5) AS median_before,
    quantile(CASE WHEN s.is_since = 1 THEN f.value END, 0.5) AS median_since
  FROM facts f
  JOIN sides s ON s.run_id = f.run_id AND s.tenant = f.tenant
  GROUP BY s.hardware, s.model, s.runtime, f.kernel_id, f.metric
),
shares AS (
  SELECT
    b.hardware, b.model, b.runtime, b.kernel_id, b.metric, b.calls_before, b.calls_since, b.runs_before, b.runs_since,
    b.median_before, b.median_since,
    b.ns_before * 1e0 / nullif(sum(b.ns_before) OVER (PARTITION BY b.hardware, b.model, b.runtime), 0) AS share_before,
    b.ns_since * 1e0 / nullif(sum(b.ns_since) OVER (PARTITION BY b.hardware, b.model, b.runtime), 0) AS share_since
  FROM compared b
),
names AS (
  SELECT d.kernel_id, min(d.name) AS kernel, min(d.class) AS kernel_class
  FROM kernel_dim d
  WHERE d.day >= :since AND d.day <= :until
  GROUP BY d.kernel_id
),
changed AS (
  SELECT
    s.hardware, s.model, s.runtime, s.metric, s.runs_before, s.runs_since, s.median_before, s.median_since,
    s.share_before, s.share_since, n.kernel, n.kernel_class,
    CASE WHEN s.metric <> '' THEN 'metric' WHEN s.calls_before = 0 THEN 'appeared' ELSE 'vanished' END AS what,
    CASE WHEN s.metric <> '' THEN 0e0 ELSE s.share_before + s.share_since END AS weight
  FROM shares s
  LEFT JOIN names n ON n.kernel_id = s.kernel_id
  WHERE (s.metric <> '' AND s.runs_before > 0 AND s.runs_since > 0)
    -- Where one side has no kernels at all there is no share, and nothing can be said to have appeared or vanished.
    OR (
      s.metric = '' AND (s.calls_before = 0 OR s.calls_since = 0)
      AND s.share_before + s.share_since >= :min_share
    )
)
SELECT
  c.hardware AS hardware,
  c.model AS model,
  c.runtime AS runtime,
  c.what AS change,
  CASE WHEN c.metric <> '' THEN c.metric ELSE c.kernel END AS name,
  CASE WHEN c.metric <> '' THEN '' ELSE c.kernel_class END AS class,
  CAST(c.runs_before AS BIGINT) AS runs_before,
  CAST(c.runs_since AS BIGINT) AS runs_since,
  CASE WHEN c.metric <> '' THEN c.median_before ELSE c.share_before END AS value_before,
  CASE WHEN c.metric <> '' THEN c.median_since ELSE c.share_since END AS value_since,
  CASE WHEN c.metric <> '' THEN c.median_since / nullif(c.median_before, 0) END AS ratio
FROM changed c
ORDER BY c.hardware, c.model, c.runtime, CASE WHEN c.metric <> '' THEN 1 ELSE 2 END, c.weight DESC, name, change
LIMIT :limit
