-- The values of registers that count, of the meters and about the times of the upload.
CREATE OR REPLACE TEMP TABLE current_row AS
WITH span AS (SELECT meter_code, min(start_at) AS start_at, max(end_at) AS end_at FROM incoming GROUP BY ALL)
SELECT r.rowid AS row_id, r.meter_code AS key, r.at_ms AS start_at, r.at_ms AS end_at, r.value_wh AS energy_wh, r.direction, r.quality AS detail, r.revision, 0 AS received_at_ms
FROM meter_register r JOIN span s USING (meter_code)
WHERE r.replaced_by IS NULL AND r.at_ms BETWEEN s.start_at AND s.end_at;
