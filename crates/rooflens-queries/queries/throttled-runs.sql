-- title: Devices that were throttled
-- about: Devices of runs whose clocks were held down in more than a share of the samples, with the reasons that the
--   driver gave, clocks, power, temperature and the node. Times of such a run are those of a slower device.
-- parameter: threshold number >= 0 = 0.05 | Share of throttled samples above which a device is listed.
-- parameter: since day = 0001-01-01 | First day, inclusive.
-- parameter: until day = 9999-12-31 | Last day, inclusive.
-- parameter: hardware text = | Only runs on this hardware; empty for all.
-- parameter: limit integer >= 1 = 100 | Maximum number of rows.
-- column: node word | Node of the run; empty where it is not known.
-- column: tenant word | Tenant of the run.
-- column: run_id id | Run.
-- column: device id | Device index as the driver counts.
-- column: hardware word | Hardware; empty where it is not known.
-- column: samples count | Samples of the device.
-- column: throttled_share share | Share of them that were throttled.
-- column: reasons text | Reasons to throttle that occurred, as power cap, thermal slowdown.
-- column: sm_clock_mean_mhz MHz | Mean clock of the multiprocessors.
-- column: sm_clock_min_mhz MHz | Lowest clock.
-- column: power_mean_mw mW | Mean power.
-- column: temperature_max_c °C | Highest temperature.
-- reads: device_rollup, runs
-- needs: Runs during which `rooflens run` or `rooflens bench` sampled the devices.
SELECT
  coalesce(r.node, '') AS node,
  d.tenant AS tenant,
  d.run_id AS run_id,
  d.device AS device,
  coalesce(r.hardware, '') AS hardware,
  d.samples AS samples,
  d.throttled_samples * 1e0 / d.samples AS throttled_share,
  -- Bits of the clock event reasons of NVML. A bit is set where the remainder by the next power of two reaches it.
  trim(concat(
    CASE WHEN d.throttle_reasons % 8 >= 4 THEN 'power-cap ' ELSE '' END,
    CASE WHEN d.throttle_reasons % 16 >= 8 THEN 'hardware-slowdown ' ELSE '' END,
    CASE WHEN d.throttle_reasons % 64 >= 32 THEN 'software-thermal ' ELSE '' END,
    CASE WHEN d.throttle_reasons % 128 >= 64 THEN 'hardware-thermal ' ELSE '' END,
    CASE WHEN d.throttle_reasons % 256 >= 128 THEN 'power-brake ' ELSE '' END
  )) AS reasons,
  d.sm_clock_mean_mhz AS sm_clock_mean_mhz,
  d.sm_clock_min_mhz AS sm_clock_min_mhz,
  d.power_mean_mw AS power_mean_mw,
  d.temperature_max_c AS temperature_max_c
FROM device_rollup d
JOIN runs r ON r.run_id = d.run_id AND r.tenant = d.tenant
WHERE d.samples > 0
  AND d.throttled_samples > d.samples * :threshold
  AND d.day >= :since AND d.day <= :until
  AND r.day >= :since AND r.day <= :until
  AND (:hardware = '' OR r.hardware = :hardware)
ORDER BY throttled_share DESC, node, tenant, run_id, device
LIMIT :limit
