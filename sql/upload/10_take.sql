-- 10 Take: the rows of an upload.
--
-- Reads   the rows that were sent, as JSON; upload, meter_reading, meter_register.
-- Writes  incoming (temporary, one row for each row of the upload: days as days since 1970, instants in ms since 1970, energy in Wh).
-- Why     Intervals, registers and budgets have one form, so that they are compared by the same statements.

-- name: find_upload
-- The upload with the same rows, if there was one.
SELECT upload_id::DOUBLE AS upload_id, row_count::DOUBLE AS row_count, revision, received_at_ms::DOUBLE AS received_at_ms
FROM upload WHERE kind = $kind AND content_hash = $content_hash ORDER BY upload_id DESC LIMIT 1;

-- name: next_upload_id
-- The number of the next upload.
SELECT (coalesce(max(upload_id), 0) + 1)::DOUBLE AS upload_id FROM upload;

-- name: set_joins
-- How many rows a table has is not known within the transaction that makes it, and few rows would be joined one by one.
SET SESSION asof_loop_join_threshold = 0;

-- name: create_incoming
-- The rows of an upload. key: what they may not overlap within; start_at, end_at: as in the table that they go to, days as days since 1970 and
-- the end exclusive; energy_wh: Wh; revision and is_same: decided by comparing.
CREATE OR REPLACE TEMP TABLE incoming (
  line BIGINT, key VARCHAR, meter_code VARCHAR, start_at BIGINT, end_at BIGINT, energy_wh DOUBLE, direction VARCHAR, detail VARCHAR, revision INTEGER, is_same BOOLEAN
);

-- name: take_meter_rows
-- Takes rows of intervals or registers in. $rows: JSON, an array of them.
INSERT INTO incoming
SELECT line, meter, meter, start, "end", energyWh, direction, quality, 1, false
FROM (SELECT unnest(from_json($rows, '[{"line": "BIGINT", "meter": "VARCHAR", "start": "BIGINT", "end": "BIGINT", "energyWh": "DOUBLE", "direction": "VARCHAR", "quality": "VARCHAR"}]'), recursive := true));

-- name: take_budget_rows
-- Takes rows of budgets in. $rows: JSON, an array of them, with the granularity within which they may not overlap.
INSERT INTO incoming
SELECT line, concat_ws(chr(10), meter, scenario, granularity), meter, start - DATE '1970-01-01', "end" - DATE '1970-01-01' + 1, energyWh, NULL, scenario, 1, false
FROM (SELECT unnest(from_json($rows, '[{"line": "BIGINT", "meter": "VARCHAR", "start": "DATE", "end": "DATE", "energyWh": "DOUBLE", "scenario": "VARCHAR", "granularity": "VARCHAR"}]'), recursive := true));

-- name: find_other_kind
-- Meters of the upload that have readings of the other kind: from registers, or of intervals.
SELECT i.meter_code, min(i.line)::DOUBLE AS line
FROM incoming i
WHERE CASE WHEN $is_register
  THEN i.meter_code IN (SELECT meter_code FROM meter_reading WHERE replaced_by IS NULL AND NOT from_register)
  ELSE i.meter_code IN (SELECT meter_code FROM meter_register WHERE replaced_by IS NULL) END
GROUP BY ALL ORDER BY ALL;
