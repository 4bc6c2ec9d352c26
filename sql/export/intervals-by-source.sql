-- The intervals of the chosen days ("slot": see report/intervals) as rows, with the time that a clock in $zone shows.
-- energy_wh: Wh in 15 minutes, null where nothing measured covers them.
SELECT
  day,
  make_timestamptz(at_ms * 1000) AS interval_start,
  timezone($zone, make_timestamptz(at_ms * 1000)) AS interval_start_local,
  device,
  source,
  energy_wh
FROM slot
