-- 20 Slot: the intervals that a balance is told of.
--
-- Reads   local days of the workgroup and of the zone that is asked for.
-- Writes  "slot" (one row for each interval that is over), "own_slot" (one row for each interval of whole days of the workgroup).
-- Why     What is declared holds by the days of the workgroup, whatever zone is asked for.

-- name: find_slot
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

-- name: find_own_slot
-- All intervals of local days of the workgroup, also those that are not asked for: what is known of an interval hangs on its whole day.
--
-- Reads  own_day (day, start_ms, end_ms); rule
-- Writes "own_slot": own_day, at_ms (start, ms since 1970)
SELECT day AS own_day, unnest(range(start_ms, end_ms, (SELECT interval_ms FROM rule))) AS at_ms FROM own_day
