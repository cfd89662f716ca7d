-- title: Kernels per decode token and step by runtime version
-- about: How many device activities (kernels, copies, fills) a rank runs per decode step and per decode token, by
--   runtime and version. More of them than in the version before means lost fusions or a CUDA graph that no longer
--   covers the step; launches per step tell the calls of the host, which a graph replay needs few of.
-- parameter: since day = 0001-01-01 | First day, inclusive.
-- parameter: until day = 9999-12-31 | Last day, inclusive.
-- parameter: hardware text = | Only runs on this hardware; empty for all.
-- parameter: model text = | Only runs of this model; empty for all.
-- parameter: limit integer >= 1 = 50 | Maximum number of rows.
-- column: runtime word | Runtime; empty where it is not known.
-- column: runtime_version word | Its version; empty where it is not known.
-- column: runs count | Runs with decode steps whose tokens are known.
-- column: steps count | Decode steps of all ranks.
-- column: decode_tokens count | Decode tokens of all ranks' steps.
-- column: activities count | Device activities of all ranks.
-- column: activities_per_token count | Device activities per decode token.
-- column: activities_per_step count | Device activities per decode step of a rank.
-- column: launches_per_step count | Launch calls of the host per decode step of a rank whose launches were recorded; null where none were.
-- reads: phase_rollup, runs
-- needs: Runs with kernels whose decode steps say how many tokens they made.
WITH per_run AS (
  SELECT
    p.tenant,
    p.run_id,
    sum(p.steps) AS steps,
    sum(p.decode_tokens) AS decode_tokens,
    sum(p.activities) AS activities,
    sum(p.launches) AS launches,
    sum(CASE WHEN p.launches IS NULL THEN 0 ELSE p.steps END) AS launching_steps
  FROM phase_rollup p
  WHERE p.phase = 'decode' AND p.decode_tokens > 0 AND p.activities IS NOT NULL
    AND p.day >= :since AND p.day <= :until
  GROUP BY p.tenant, p.run_id
)
SELECT
  coalesce(r.runtime, '') AS runtime,
  coalesce(r.runtime_version, '') AS runtime_version,
  count(*) AS runs,
  CAST(sum(p.steps) AS BIGINT) AS steps,
  CAST(sum(p.decode_tokens) AS BIGINT) AS decode_tokens,
  CAST(sum(p.activities) AS BIGINT) AS activities,
  sum(p.activities) * 1e0 / sum(p.decode_tokens) AS activities_per_token,
  sum(p.activities) * 1e0 / nullif(sum(p.steps), 0) AS activities_per_step,
  sum(p.launches) * 1e0 / nullif(sum(p.launching_steps), 0) AS launches_per_step
FROM per_run p
JOIN runs r ON r.run_id = p.run_id AND r.tenant = p.tenant
WHERE r.day >= :since AND r.day <= :until
  AND (:hardware = '' OR r.hardware = :hardware)
  AND (:model = '' OR r.model = :model)
GROUP BY coalesce(r.runtime, ''), coalesce(r.runtime_version, '')
ORDER BY runtime, runtime_version
LIMIT :limit
