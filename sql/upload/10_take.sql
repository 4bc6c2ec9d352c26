-- 10 Take: the rows of an upload.
--
-- Reads   the received rows, as JSON; upload, meter_reading, meter_register.
-- Writes  incoming (temporary: one row for each row of the upload; days as days since 1970, instants in ms
--         since 1970, energy in Wh).
-- Why     Intervals, registers and budgets have one form, so the same statements compare them.

-- name: find_upload
-- Returns an earlier upload with the same rows.
SELECT upload_id::DOUBLE AS upload_id, row_count::DOUBLE AS row_count, revision::DOUBLE AS revision,
  received_at_ms::DOUBLE AS received_at_ms
FROM upload WHERE kind = $kind AND content_hash = $content_hash ORDER BY upload_id DESC LIMIT 1;

-- name: find_next_upload_id
-- Returns the number of the next upload.
SELECT (coalesce(max(upload_id), 0) + 1)::DOUBLE AS upload_id FROM upload;

-- name: set_joins
-- Turns off the row-by-row join, which DuckDB would choose because it does not know the size of a table in
-- the transaction that creates it.
SET SESSION asof_loop_join_threshold = 0;

-- name: create_incoming
-- Creates the table for the rows of an upload.
-- Rows with the same meter, scenario and granularity must not overlap.
-- incoming:
--   new_id               the number of the row, from 1
--   line                 of the file
--   meter_code
--   scenario             of budgets; empty for readings
--   granularity          of budgets: the kind of the period; empty for readings
--   start_ms, end_ms     ms since 1970, the end excluded. A day of a budget begins at midnight UTC here
--   amount_wh            the energy of an interval or of a budget, or the value of a register
--   direction            of readings
--   quality              of readings: measured, estimated or substituted; of intervals of a register also
--                        fault (see collect_register_intervals)
--   revision, is_same    1 and false until chapter 20 decides them
CREATE OR REPLACE TEMP TABLE incoming (
  new_id BIGINT, line BIGINT, meter_code VARCHAR, scenario VARCHAR, granularity VARCHAR, start_ms BIGINT, end_ms BIGINT,
  amount_wh DOUBLE, direction VARCHAR, quality VARCHAR, revision INTEGER, is_same BOOLEAN
);

-- name: take_meter_rows
-- Adds rows of intervals or registers. $rows: JSON array.
INSERT INTO incoming BY NAME
SELECT (SELECT count(*) FROM incoming) + row_number() OVER () AS new_id, line, meter AS meter_code, '' AS scenario,
  '' AS granularity, start AS start_ms, "end" AS end_ms, energyWh AS amount_wh, direction, quality, 1 AS revision,
  false AS is_same
FROM (
  SELECT unnest(from_json($rows, '[{
      "line": "BIGINT", "meter": "VARCHAR", "start": "BIGINT", "end": "BIGINT", "energyWh": "DOUBLE",
      "direction": "VARCHAR", "quality": "VARCHAR"
    }]'), recursive := true)
);

-- name: take_budget_rows
-- Adds rows of budgets. $rows: JSON array.
INSERT INTO incoming BY NAME
SELECT (SELECT count(*) FROM incoming) + row_number() OVER () AS new_id, line, meter AS meter_code, scenario,
  granularity(start, "end") AS granularity, epoch_ms(start) AS start_ms, epoch_ms("end" + 1) AS end_ms,
  energyWh AS amount_wh, 1 AS revision, false AS is_same
FROM (
  SELECT unnest(from_json($rows, '[{
      "line": "BIGINT", "meter": "VARCHAR", "start": "DATE", "end": "DATE", "energyWh": "DOUBLE",
      "scenario": "VARCHAR"
    }]'), recursive := true)
);

-- name: find_other_kind
-- Returns meters of the upload that already have readings of the other kind (registers or intervals).
SELECT meter_code, min(line)::DOUBLE AS line
FROM incoming
WHERE CASE
  WHEN $is_register
    THEN meter_code IN (SELECT meter_code FROM meter_reading WHERE replaced_by IS NULL AND NOT from_register)
  ELSE meter_code IN (SELECT meter_code FROM meter_register WHERE replaced_by IS NULL)
END
GROUP BY ALL ORDER BY ALL;
