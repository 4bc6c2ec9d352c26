-- The local days that readings are spread over, without those that the zone skipped, and their instants in ms. $days, $starts_ms, $ends_ms:
-- from the tz database. Read as "local_day".
SELECT day, start_ms, end_ms
FROM (SELECT unnest($days::VARCHAR[])::DATE AS day, unnest($starts_ms::BIGINT[]) AS start_ms, unnest($ends_ms::BIGINT[]) AS end_ms)
WHERE start_ms < end_ms
