-- title: Ranks that are slower than their run
-- about: Ranks whose time in kernels, without communication, copies and fills, is above the median of the ranks of the same run by
--   more than a threshold, with the node that they ran on and how many of the node's runs have such a rank. A node
--   that comes up again and again has a slow device; a rank that does so on many nodes has more work.
-- parameter: threshold number >= 0 = 0.1 | How far above the median, as a share of it: 0.1 is 10 %.
-- parameter: since day = 0001-01-01 | First day, inclusive.
-- parameter: until day = 9999-12-31 | Last day, inclusive.
-- parameter: hardware text = | Only runs on this hardware; empty for all.
-- parameter: model text = | Only runs of this model; empty for all.
-- parameter: limit integer >= 1 = 100 | Maximum number of rows.
-- column: node word | Node of the run; empty where it is not known.
-- column: node_slow_runs count | Runs of the node with a slow rank; null where the node is not known.
-- column: node_runs count | Runs of the node; null where the node is not known.
-- column: tenant word | Tenant of the run.
-- column: run_id id | Run.
-- column: rank id | Slow rank.
-- column: hardware word | Hardware; empty where it is not known.
-- column: compute_ns ns | Time of the rank in kernels, without communication, copies and fills.
-- column: median_ns ns | Median of that over the ranks of the run.
-- column: ratio ratio | Time of the rank / median.
-- reads: kernel_rollup, runs, kernel_dim
WITH classes AS (
  SELECT
    d.kernel_id,
    max(CASE WHEN d.class IN ('communication', 'memcpy', 'memset') THEN 1 ELSE 0 END) AS is_transfer
  FROM kernel_dim d
  WHERE d.day >= :since AND d.day <= :until
  GROUP BY d.kernel_id
),
per_rank AS (
  SELECT k.tenant, k.run_id, k.rank, sum(k.total_ns) AS compute_ns
  FROM kernel_rollup k
  JOIN classes c ON c.kernel_id = k.kernel_id
  WHERE k.day >= :since AND k.day <= :until AND c.is_transfer = 0
  GROUP BY k.tenant, k.run_id, k.rank
),
placed AS (
  SELECT
    p.tenant, p.run_id, p.rank, p.compute_ns,
    row_number() OVER (PARTITION BY p.tenant, p.run_id ORDER BY p.compute_ns, p.rank) AS place,
    count(*) OVER (PARTITION BY p.tenant, p.run_id) AS ranks
  FROM per_rank p
),
-- The median is the middle value, or the mean of both middle ones.
medians AS (
  SELECT
    p.tenant, p.run_id, p.rank, p.compute_ns, p.place,
    sum(CASE WHEN 2 * p.place >= p.ranks AND 2 * p.place <= p.ranks + 2 THEN p.compute_ns ELSE 0 END)
      OVER (PARTITION BY p.tenant, p.run_id) * 1e0
      / (CASE WHEN p.ranks % 2 = 1 THEN 1 ELSE 2 END) AS median_ns
  FROM placed p
),
judged AS (
  SELECT
    m.tenant, m.run_id, m.rank, m.compute_ns, m.place, m.median_ns,
    coalesce(r.node, '') AS node,
    coalesce(r.hardware, '') AS hardware,
    CASE WHEN m.compute_ns > m.median_ns * (1e0 + :threshold) THEN 1 ELSE 0 END AS is_slow
  FROM medians m
  JOIN runs r ON r.run_id = m.run_id AND r.tenant = m.tenant
  WHERE r.day >= :since AND r.day <= :until
    AND (:hardware = '' OR r.hardware = :hardware)
    AND (:model = '' OR r.model = :model)
),
of_runs AS (
  SELECT
    j.tenant, j.run_id, j.rank, j.compute_ns, j.place, j.median_ns, j.node, j.hardware, j.is_slow,
    max(j.is_slow) OVER (PARTITION BY j.tenant, j.run_id) AS is_run_slow
  FROM judged j
),
-- Each run counts once for its node, with the rank that comes first.
of_nodes AS (
  SELECT
    o.tenant, o.run_id, o.rank, o.compute_ns, o.median_ns, o.node, o.hardware, o.is_slow,
    sum(CASE WHEN o.place = 1 THEN o.is_run_slow ELSE 0 END) OVER (PARTITION BY o.node) AS slow_runs,
    sum(CASE WHEN o.place = 1 THEN 1 ELSE 0 END) OVER (PARTITION BY o.node) AS all_runs
  FROM of_runs o
)
SELECT
  n.node AS node,
  CAST(CASE WHEN n.node <> '' THEN n.slow_runs END AS BIGINT) AS node_slow_runs,
  CAST(CASE WHEN n.node <> '' THEN n.all_runs END AS BIGINT) AS node_runs,
  n.tenant AS tenant,
  n.run_id AS run_id,
  n.rank AS rank,
  n.hardware AS hardware,
  CAST(n.compute_ns AS BIGINT) AS compute_ns,
  n.median_ns AS median_ns,
  n.compute_ns * 1e0 / nullif(n.median_ns, 0) AS ratio
FROM of_nodes n
WHERE n.is_slow = 1
ORDER BY CASE WHEN n.node <> '' THEN n.slow_runs ELSE 0 END DESC, n.node, tenant, run_id, rank
LIMIT :limit
