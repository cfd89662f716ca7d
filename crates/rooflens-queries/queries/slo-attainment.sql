-- title: Share of requests that meet an SLO
-- about: The share of measured requests of load tests whose time to first token and time per output token are both
--   within an objective, by model and hardware. Requests that failed or timed out are misses; requests that were
--   cancelled as the load test ended do not count. TTFT is from the scheduled time where there is a schedule. A
--   request with one output token has no time per output token and meets that objective.
-- parameter: ttft duration | Longest time to first token, as 500ms.
-- parameter: tpot duration | Longest time per output token, as 50ms.
-- parameter: since day = 0001-01-01 | First day, inclusive.
-- parameter: until day = 9999-12-31 | Last day, inclusive.
-- parameter: runtime text = | Only runs of this runtime; empty for all.
-- parameter: limit integer >= 1 = 50 | Maximum number of rows.
-- column: model text | Model; empty where it is not known.
-- column: hardware word | Hardware; empty where it is not known.
-- column: runs count | Runs with measured requests.
-- column: requests count | Measured requests.
-- column: failed count | Requests that failed or timed out.
-- column: within_ttft count | Completed requests within the objective for TTFT.
-- column: within_tpot count | Completed requests within the objective for TPOT.
-- column: attained count | Completed requests within both.
-- column: attainment share | Share of requests within both.
-- reads: requests, runs
-- needs: Runs with requests: those of `rooflens run` and `rooflens bench`. Imported results of other clients have them where the file has every request with the time of each token.
WITH judged AS (
  SELECT
    q.tenant,
    q.run_id,
    CASE WHEN q.status = 'completed' THEN 0 ELSE 1 END AS is_failed,
    CASE
      WHEN q.status = 'completed'
        AND q.first_token_ts_ns - coalesce(q.scheduled_ts_ns, q.sent_ts_ns) <= :ttft
      THEN 1 ELSE 0
    END AS is_within_ttft,
    CASE
      WHEN q.status = 'completed'
        AND (q.output_tokens <= 1 OR q.last_token_ts_ns - q.first_token_ts_ns <= :tpot * (q.output_tokens - 1))
      THEN 1 ELSE 0
    END AS is_within_tpot
  FROM requests q
  WHERE q.round_kind = 'measured' AND q.status IN ('completed', 'failed', 'timed_out')
    AND q.day >= :since AND q.day <= :until
),
per_run AS (
  SELECT
    j.tenant,
    j.run_id,
    count(*) AS requests,
    sum(j.is_failed) AS failed,
    sum(j.is_within_ttft) AS within_ttft,
    sum(j.is_within_tpot) AS within_tpot,
    sum(j.is_within_ttft * j.is_within_tpot) AS attained
  FROM judged j
  GROUP BY j.tenant, j.run_id
)
SELECT
  coalesce(r.model, '') AS model,
  coalesce(r.hardware, '') AS hardware,
  count(*) AS runs,
  CAST(sum(p.requests) AS BIGINT) AS requests,
  CAST(sum(p.failed) AS BIGINT) AS failed,
  CAST(sum(p.within_ttft) AS BIGINT) AS within_ttft,
  CAST(sum(p.within_tpot) AS BIGINT) AS within_tpot,
  CAST(sum(p.attained) AS BIGINT) AS attained,
  sum(p.attained) * 1e0 / sum(p.requests) AS attainment
FROM per_run p
JOIN runs r ON r.run_id = p.run_id AND r.tenant = p.tenant
WHERE r.day >= :since AND r.day <= :until
  AND (:runtime = '' OR r.runtime = :runtime)
GROUP BY coalesce(r.model, ''), coalesce(r.hardware, '')
ORDER BY model, hardware
LIMIT :limit
