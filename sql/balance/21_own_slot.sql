-- All intervals of local days of the workgroup, also those that are not asked for: what is known of an interval hangs on its whole day.
--
-- Reads  own_day (day, start_ms, end_ms); rule
-- Writes "own_slot": own_day, at_ms (start, ms since 1970)
SELECT day AS own_day, unnest(range(start_ms, end_ms, (SELECT interval_ms FROM rule))) AS at_ms FROM own_day
