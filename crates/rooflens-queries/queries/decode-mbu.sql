-- title: Memory bandwidth utilization of decode by hardware
-- about: Median, lowest and highest MBU of decode per hardware: the bytes that a decode step has to read / the bytes
--   that the memory could have delivered in its time. Each run counts once.
-- parameter: since day = 0001-01-01 | First day, inclusive.
-- parameter: until day = 9999-12-31 | Last day, inclusive.
-- parameter: model text = | Only runs of this model; empty for all.
-- parameter: runtime text = | Only runs of this runtime; empty for all.
-- parameter: limit integer >= 1 = 50 | Maximum number of rows.
-- column: hardware word | Hardware; empty where it is not known.
-- column: runs count | Runs that have the metric.
-- column: median_mbu share | Median over runs.
-- column: lowest_mbu share | Lowest run.
-- column: highest_mbu share | Highest run.
-- reads: run_metrics, runs
-- needs: Runs with the metric `mbu_decode`: those of `rooflens run` and `rooflens bench` where the model and the device were known.
SELECT
  coalesce(r.hardware, '') AS hardware,
  count(*) AS runs,
  quantile(m.value, 0.5) AS median_mbu,
  min(m.value) AS lowest_mbu,
  max(m.value) AS highest_mbu
FROM run_metrics m
JOIN runs r ON r.run_id = m.run_id AND r.tenant = m.tenant
WHERE m.metric = 'mbu_decode'
  AND m.day >= :since AND m.day <= :until
  AND r.day >= :since AND r.day <= :until
  AND (:model = '' OR r.model = :model)
  AND (:runtime = '' OR r.runtime = :runtime)
GROUP BY coalesce(r.hardware, '')
ORDER BY hardware
LIMIT :limit
