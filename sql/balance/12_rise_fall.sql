-- How much registers that may fall rose and fell on each local day, where a device counts one of the two.
--
-- Reads  measured (of these sources, see 41_measured); rule
-- Writes "rise_fall", one row for each source and local day: day, device, source, rise_wh, fall_wh (Wh; null where readings are too far
--        apart to tell the two from each other)
SELECT own_day AS day, device, source,
  CASE WHEN spread_wh <= (SELECT span_wh FROM rule) THEN rise END::BIGINT AS rise_wh,
  CASE WHEN spread_wh <= (SELECT span_wh FROM rule) THEN fall END::BIGINT AS fall_wh
FROM (
  SELECT own_day, device, source, sum(greatest(energy_wh, 0)) AS rise, sum(greatest(-energy_wh, 0)) AS fall,
    coalesce(sum(abs(energy_wh)) FILTER (is_spread), 0) AS spread_wh
  FROM measured
  GROUP BY own_day, device, source
)
