-- 20 Slot: the intervals of a balance.
--
-- Reads   own_day (local days of the workgroup), zone_day (local days of the requested time zone), rule.
-- Writes  "slot" (one row for each interval that is over), "own_slot" (one row for each interval of whole
--         days of the workgroup).
-- Why     Declarations hold for days of the workgroup, whatever time zone is requested.

-- name: find_slot
-- Lists the requested intervals that are over. One row for each interval.
-- Reads own_day (day, start_ms, end_ms): local days of the workgroup, for declarations and for the method of
-- each day; zone_day (day, start_ms, end_ms): the requested days, of any time zone; rule.
-- slot:
--   at_ms     start, ms since 1970
--   day       of zone_day
--   own_day   of own_day
SELECT requested.at_ms, requested.day, local_slot.own_day
FROM (
  SELECT day, unnest(range(start_ms, end_ms, (SELECT interval_ms FROM rule))) AS at_ms FROM zone_day
) AS requested
JOIN (
  SELECT day AS own_day, unnest(range(start_ms, end_ms, (SELECT interval_ms FROM rule))) AS at_ms FROM own_day
) AS local_slot USING (at_ms)
WHERE requested.at_ms + (SELECT interval_ms FROM rule) <= (SELECT now_ms FROM rule);

-- name: find_own_slot
-- Lists all intervals of the workgroup's local days, also those that are not requested, because an interval
-- depends on its whole day. One row for each interval.
-- Reads own_day (day, start_ms, end_ms); rule.
-- own_slot:
--   own_day
--   at_ms   start, ms since 1970
SELECT day AS own_day, unnest(range(start_ms, end_ms, (SELECT interval_ms FROM rule))) AS at_ms FROM own_day;
