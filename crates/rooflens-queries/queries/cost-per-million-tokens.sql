-- title: Cost per million output tokens
-- about: What a million output tokens cost at a price per device and hour, by model, hardware and runtime version:
--   price x devices / output tokens per hour. Each run counts once whose throughput was measured and
--   whose number of devices is known: a load test does not see the devices behind its server, so give them when it is
--   added (`rooflens store add --set devices=8`). The median is of runs.
-- parameter: usd_per_device_hour number >= 0 | Price of one device for one hour, in US dollars.
-- parameter: since day = 0001-01-01 | First day, inclusive.
-- parameter: until day = 9999-12-31 | Last day, inclusive.
-- parameter: hardware text = | Only runs on this hardware; empty for all.
-- parameter: model text = | Only runs of this model; empty for all.
-- parameter: limit integer >= 1 = 50 | Maximum number of rows.
-- column: model text | Model; empty where it is not known.
-- column: hardware word | Hardware; empty where it is not known.
-- column: runtime word | Runtime; empty where it is not known.
-- column: runtime_version word | Its version; empty where it is not known.
-- column: runs count | Runs with a throughput and a number of devices.
-- column: median_tokens_per_s tokens/s | Median output tokens per second of a run.
-- column: median_usd USD | Median cost of a million output tokens.
-- column: lowest_usd USD | Cheapest run.
-- column: highest_usd USD | Most expensive run.
-- reads: run_metrics, runs
-- needs: Runs that measured tokens per second and whose number of devices is known: `rooflens store set RUN_ID devices=8`.
WITH costs AS (
  SELECT
    coalesce(r.model, '') AS model,
    coalesce(r.hardware, '') AS hardware,
    coalesce(r.runtime, '') AS runtime,
    coalesce(r.runtime_version, '') AS runtime_version,
    m.value AS tokens_per_s,
    :usd_per_device_hour * r.devices / (m.value * 3.6e3) * 1e6 AS usd
  FROM run_metrics m
  JOIN runs r ON r.run_id = m.run_id AND r.tenant = m.tenant
  WHERE m.metric = 'output_tokens_per_s' AND m.value > 0 AND r.devices > 0
    AND m.day >= :since AND m.day <= :until
    AND r.day >= :since AND r.day <= :until
    AND (:hardware = '' OR r.hardware = :hardware)
    AND (:model = '' OR r.model = :model)
)
SELECT
  c.model AS model,
  c.hardware AS hardware,
  c.runtime AS runtime,
  c.runtime_version AS runtime_version,
  count(*) AS runs,
  quantile(c.tokens_per_s, 0.5) AS median_tokens_per_s,
  quantile(c.usd, 0.5) AS median_usd,
  min(c.usd) AS lowest_usd,
  max(c.usd) AS highest_usd
FROM costs c
GROUP BY c.model, c.hardware, c.runtime, c.runtime_version
ORDER BY model, hardware, runtime, runtime_version
LIMIT :limit
