-- All intervals of local days. $own_days, $own_starts_ms, $own_ends_ms: the days, from the tz database. Read as "slot" by balance/41_measured.
SELECT day AS own_day, unnest(range(start_ms, end_ms, (SELECT interval_ms FROM rule))) AS at_ms
FROM (
  SELECT unnest($own_days::VARCHAR[])::DATE AS day, unnest($own_starts_ms::BIGINT[]) AS start_ms, unnest($own_ends_ms::BIGINT[]) AS end_ms
)
