-- The intervals that are asked for, as far as they are over.
--
-- Reads  own_day (day, start_ms, end_ms): local days of the workgroup, which say what is declared and what a day was read from;
--        zone_day (day, start_ms, end_ms): the days to be told, of any zone; rule
-- Writes "slot", one row for each interval: at_ms (start, ms since 1970), day (of zone_day), own_day (of own_day)
SELECT z.at_ms, z.day, o.own_day
FROM (
  SELECT day, unnest(range(start_ms, end_ms, (SELECT interval_ms FROM rule))) AS at_ms FROM zone_day
) AS z
JOIN (
  SELECT day AS own_day, unnest(range(start_ms, end_ms, (SELECT interval_ms FROM rule))) AS at_ms FROM own_day
) AS o USING (at_ms)
WHERE z.at_ms + (SELECT interval_ms FROM rule) <= (SELECT now_ms FROM rule)
