-- title: Kernels that changed between two builds
-- about: The mean time per call of each kernel and phase in every run of two builds of a runtime, for the kernels that
--   both builds have, on the same hardware with the same model, runtime, dtype and workload. The SQL gives one row per
--   run, so that statistics can tell a change from chance: each run is one value, whose weight does not depend on its
--   calls. `rooflens query` judges them and gives one row per kernel: `verdict` (`slower`, `faster`, `no change`, or
--   `too few runs`), `change` (median of the other build / median of the base - 1) with its 95 % confidence interval
--   `low` to `high`, `p` (rank-sum test, corrected for the number of rows, Benjamini-Hochberg), the medians `base_ns`
--   and `other_ns`, `base_runs` and `other_runs`, and `share`, the median share of device time. With few runs and many
--   kernels no difference can pass that test: seven runs of each build are enough for 80 kernels, nine for 1,000.
-- parameter: base text | The build to compare with: runs whose `runtime_build`, `runtime_version` or `label` it is.
-- parameter: other text | The build that may have changed.
-- parameter: since day = 0001-01-01 | First day, inclusive.
-- parameter: until day = 9999-12-31 | Last day, inclusive.
-- parameter: hardware text = | Only runs on this hardware; empty for all.
-- parameter: model text = | Only runs of this model; empty for all.
-- parameter: phase text = | Only this phase, as `decode`; empty for all.
-- parameter: limit integer >= 1 = 1000 | Maximum number of combinations of kernel, phase and what was run, those with the most device time first.
-- column: hardware word | Hardware; empty where it is not known.
-- column: model text | Model; empty where it is not known.
-- column: runtime word | Runtime; empty where it is not known.
-- column: dtype word | Data type of the weights; empty where it is not known.
-- column: workload word | Workload; empty where it is not known.
-- column: kernel_id id | Kernel, as in `kernel_dim`.
-- column: kernel text | Full name.
-- column: class word | What it computes.
-- column: phase word | Phase of the calls.
-- column: side word | `base` or `other`.
-- column: build text | Build of the runtime.
-- column: tenant word | Tenant of the run.
-- column: run_id id | Run.
-- column: calls count | Calls in the run, over all ranks.
-- column: mean_ns ns | Mean time per call in the run.
-- column: share share | Share of the run's device time.
-- reads: kernel_rollup, runs, kernel_dim
-- judge: two-samples value=mean_ns side=side share=share by=hardware,model,runtime,dtype,workload,kernel_id,kernel,class,phase
WITH sides AS (
  SELECT
    r.tenant,
    r.run_id,
    coalesce(r.hardware, '') AS hardware,
    coalesce(r.model, '') AS model,
    coalesce(r.runtime, '') AS runtime,
    coalesce(r.dtype, '') AS dtype,
    coalesce(r.workload, '') AS workload,
    coalesce(r.runtime_build, r.runtime_version, r.label, '') AS build,
    CASE
      WHEN r.runtime_build = :base THEN 1
      WHEN r.runtime_build = :other THEN 0
      WHEN r.runtime_version = :base THEN 1
      WHEN r.runtime_version = :other THEN 0
      WHEN r.label = :base THEN 1
      ELSE 0
    END AS is_base
  FROM runs r
  WHERE r.day >= :since AND r.day <= :until
    AND (r.runtime_build IN (:base, :other) OR r.runtime_version IN (:base, :other) OR r.label IN (:base, :other))
    AND (:hardware = '' OR r.hardware = :hardware)
    AND (:model = '' OR r.model = :model)
),
per_run AS (
  SELECT
    s.hardware, s.model, s.runtime, s.dtype, s.workload, s.build, s.is_base, k.tenant, k.run_id, k.kernel_id, k.phase,
    sum(k.count) AS calls,
    sum(k.total_ns) AS device_ns
  FROM kernel_rollup k
  JOIN sides s ON s.run_id = k.run_id AND s.tenant = k.tenant
  WHERE k.day >= :since AND k.day <= :until
  GROUP BY
    s.hardware, s.model, s.runtime, s.dtype, s.workload, s.build, s.is_base, k.tenant, k.run_id, k.kernel_id, k.phase
),
-- Shares are of the whole run, so the filter by phase comes after them.
shares AS (
  SELECT
    p.hardware, p.model, p.runtime, p.dtype, p.workload, p.build, p.is_base, p.tenant, p.run_id, p.kernel_id, p.phase,
    p.calls, p.device_ns,
    p.device_ns * 1e0 / nullif(sum(p.device_ns) OVER (PARTITION BY p.tenant, p.run_id), 0) AS device_share,
    min(p.is_base) OVER (PARTITION BY p.hardware, p.model, p.runtime, p.dtype, p.workload, p.kernel_id, p.phase) AS lowest_side,
    max(p.is_base) OVER (PARTITION BY p.hardware, p.model, p.runtime, p.dtype, p.workload, p.kernel_id, p.phase) AS highest_side,
    sum(p.device_ns) OVER (PARTITION BY p.hardware, p.model, p.runtime, p.dtype, p.workload, p.kernel_id, p.phase) AS kernel_ns
  FROM per_run p
),
-- A kernel that only one build has is a matter of changes-since.
placed AS (
  SELECT
    s.hardware, s.model, s.runtime, s.dtype, s.workload, s.build, s.is_base, s.tenant, s.run_id, s.kernel_id, s.phase,
    s.calls, s.device_ns, s.device_share,
    dense_rank() OVER (
      ORDER BY s.kernel_ns DESC, s.hardware, s.model, s.runtime, s.dtype, s.workload, s.kernel_id, s.phase
    ) AS place
  FROM shares s
  WHERE s.lowest_side = 0 AND s.highest_side = 1 AND s.calls > 0
    AND (:phase = '' OR s.phase = :phase)
),
names AS (
  SELECT d.kernel_id, min(d.name) AS kernel, min(d.class) AS kernel_class
  FROM kernel_dim d
  WHERE d.day >= :since AND d.day <= :until
  GROUP BY d.kernel_id
)
SELECT
  p.hardware AS hardware,
  p.model AS model,
  p.runtime AS runtime,
  p.dtype AS dtype,
  p.workload AS workload,
  p.kernel_id AS kernel_id,
  n.kernel AS kernel,
  n.kernel_class AS class,
  p.phase AS phase,
  CASE WHEN p.is_base = 1 THEN 'base' ELSE 'other' END AS side,
  p.build AS build,
  p.tenant AS tenant,
  p.run_id AS run_id,
  CAST(p.calls AS BIGINT) AS calls,
  p.device_ns * 1e0 / p.calls AS mean_ns,
  p.device_share AS share
FROM placed p
LEFT JOIN names n ON n.kernel_id = p.kernel_id
WHERE p.place <= :limit
ORDER BY p.place, side, tenant, run_id
