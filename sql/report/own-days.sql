-- Local days of the workgroup. $own_days, $own_starts_ms, $own_ends_ms: from the tz database. Read as "own_day" by balance/21_own_slot.
SELECT unnest($own_days::VARCHAR[])::DATE AS day, unnest($own_starts_ms::BIGINT[]) AS start_ms, unnest($own_ends_ms::BIGINT[]) AS end_ms
