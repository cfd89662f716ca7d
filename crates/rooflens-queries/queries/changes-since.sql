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
per_kernel AS (
  SELECT
    s.hardware, s.model, s.runtime, k.kernel_id,
    sum(k.count * s.is_before) AS calls_before,
    sum(k.count * s.is_since) AS calls_since,
    sum(k.total_ns * s.is_before) AS ns_before,
    sum(k.total_ns * s.is_since) AS ns_since,
    count(DISTINCT CASE WHEN s.is_before = 1 THEN k.run_id END) AS runs_before,
    count(DISTINCT CASE WHEN s.is_since = 1 THEN k.run_id END) AS runs_since
  FROM kernel_rollup k
  JOIN sides s ON s.run_id = k.run_id AND s.tenant = k.tenant
  WHERE k.day >= :since AND k.day <= :until
  GROUP BY s.hardware, s.model, s.runtime, k.kernel_id
),
shares AS (
  SELECT
    p.hardware, p.model, p.runtime, p.kernel_id, p.calls_before, p.calls_since, p.ns_before, p.ns_since, p.runs_before, p.runs_since,
    sum(p.ns_before) OVER (PARTITION BY p.hardware, p.model, p.runtime) AS all_before,
    sum(p.ns_since) OVER (PARTITION BY p.hardware, p.model, p.runtime) AS all_since
  FROM per_kernel p
),
names AS (
  SELECT d.kernel_id, min(d.name) AS kernel, min(d.class) AS kernel_class
  FROM kernel_dim d
  WHERE d.day >= :since AND d.day <= :until
  GROUP BY d.kernel_id
),
changed AS (
  SELECT
    s.hardware AS hardware,
    s.model AS model,
    s.runtime AS runtime,
    CASE WHEN s.calls_before = 0 THEN 'appeared' ELSE 'vanished' END AS what,
    n.kernel AS name,
    n.kernel_class AS class,
    s.runs_before AS runs_before,
    s.runs_since AS runs_since,
    s.ns_before * 1e0 / s.all_before AS value_before,
    s.ns_since * 1e0 / s.all_since AS value_since
  FROM shares s
  LEFT JOIN names n ON n.kernel_id = s.kernel_id
  -- Where one side has no runs at all, nothing can be said to have appeared or vanished.
  WHERE s.all_before > 0 AND s.all_since > 0
    AND (s.calls_before = 0 OR s.calls_since = 0)
    AND s.ns_before * 1e0 / s.all_before + s.ns_since * 1e0 / s.all_since >= :min_share
),
metrics AS (
  SELECT
    s.hardware AS hardware,
    s.model AS model,
    s.runtime AS runtime,
    m.metric AS metric,
    count(CASE WHEN s.is_before = 1 THEN m.value END) AS runs_before,
    count(CASE WHEN s.is_since = 1 THEN m.value END) AS runs_since,
    quantile(CASE WHEN s.is_before = 1 THEN m.value END, 0.5) AS median_before,
    quantile(CASE WHEN s.is_since = 1 THEN m.value END, 0.5) AS median_since
  FROM run_metrics m
  JOIN sides s ON s.run_id = m.run_id AND s.tenant = m.tenant
  WHERE m.day >= :since AND m.day <= :until
  GROUP BY s.hardware, s.model, s.runtime, m.metric
),
combined AS (
  SELECT
    c.hardware, c.model, c.runtime, 2 AS part, c.what, c.name, c.class, c.runs_before, c.runs_since, c.value_before,
    c.value_since, CAST(NULL AS DOUBLE) AS ratio, c.value_before + c.value_since AS weight
  FROM changed c
  UNION ALL
  SELECT
    m.hardware, m.model, m.runtime, 1 AS part, 'metric' AS what, m.metric AS name, '' AS class,
    m.runs_before, m.runs_since, m.median_before AS value_before, m.median_since AS value_since,
    m.median_since / nullif(m.median_before, 0) AS ratio, 0e0 AS weight
  FROM metrics m
  WHERE m.runs_before > 0 AND m.runs_since > 0
)
SELECT
  b.hardware AS hardware,
  b.model AS model,
  b.runtime AS runtime,
  b.what AS change,
  b.name AS name,
  b.class AS class,
  b.runs_before AS runs_before,
  b.runs_since AS runs_since,
  b.value_before AS value_before,
  b.value_since AS value_since,
  b.ratio AS ratio
FROM combined b
ORDER BY b.hardware, b.model, b.runtime, b.part, b.weight DESC, b.name, b.what
LIMIT :limit
