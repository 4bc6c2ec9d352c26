-- Local days between the bounds. $days, $starts_ms, $ends_ms: the days and their first instants, from the tz database.
-- local_day: day, start_ms, end_ms
CREATE OR REPLACE TEMP TABLE local_day AS
SELECT unnest($days::VARCHAR[])::DATE AS day, unnest($starts_ms::BIGINT[]) AS start_ms, unnest($ends_ms::BIGINT[]) AS end_ms;
