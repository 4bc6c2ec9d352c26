-- 30 Store: stores new rows, and marks the replaced ones.
--
-- Reads   incoming, replaced_row, meter_reading, meter_register.
-- Writes  meter_reading, meter_register, budget (one row for each revision; replaced_by if it is no longer
--         current), register_interval (temporary: the energy between two values of a register), incoming
--         (these intervals), upload, dirty_partition.
-- Why     An upload never overwrites, so earlier values stay visible.

-- name: store_readings
-- Stores the new readings.
INSERT INTO meter_reading BY NAME
SELECT meter_code, start_ms, end_ms, amount_wh AS energy_wh, direction, quality,
  $from_register AS from_register, revision, $now_ms AS received_at_ms, $upload_id AS upload_id
FROM incoming WHERE NOT is_same ORDER BY meter_code, start_ms;

-- name: store_registers
-- Stores the new register values.
INSERT INTO meter_register BY NAME
SELECT meter_code, start_ms AS at_ms, amount_wh AS value_wh, direction, quality, revision,
  $upload_id AS upload_id
FROM incoming WHERE NOT is_same ORDER BY meter_code, start_ms;

-- name: store_budgets
-- Stores the new budgets.
INSERT INTO budget BY NAME
SELECT
  meter_code,
  make_timestamp_ms(start_ms)::DATE AS period_start,
  make_timestamp_ms(end_ms)::DATE - 1 AS period_end,
  amount_wh::BIGINT AS energy_wh,
  scenario,
  revision,
  $now_ms AS uploaded_at_ms,
  $upload_id AS upload_id
FROM incoming WHERE NOT is_same ORDER BY meter_code, scenario, start_ms;

-- name: replace_readings
-- Marks the replaced readings.
UPDATE meter_reading SET replaced_by = $upload_id WHERE rowid IN (SELECT row_id FROM replaced_row);

-- name: replace_registers
-- Marks the replaced register values.
UPDATE meter_register SET replaced_by = $upload_id WHERE rowid IN (SELECT row_id FROM replaced_row);

-- name: replace_budgets
-- Marks the replaced budgets.
UPDATE budget SET replaced_by = $upload_id WHERE rowid IN (SELECT row_id FROM replaced_row);

-- name: collect_register_intervals
-- Computes the intervals between neighbouring values of the registers of the upload.
-- register_interval:
--   meter_code, start_ms, end_ms
--   energy_wh   to a thousandth of a Wh, because a difference of two DOUBLEs has more digits than the values;
--               null: the register fell, so the energy is unknown
--   direction   see create_incoming
--   quality     the worse one of the two values; fault: the register fell
CREATE OR REPLACE TEMP TABLE register_interval AS
WITH step AS (
  -- The register values in order, each with the one before it.
  SELECT
    meter_code,
    at_ms,
    value_wh,
    direction,
    quality,
    lag(at_ms) OVER in_order AS before_ms,
    lag(value_wh) OVER in_order AS before_wh,
    lag(quality) OVER in_order AS before_quality
  FROM meter_register
  WHERE replaced_by IS NULL AND meter_code IN (SELECT meter_code FROM incoming)
  WINDOW in_order AS (PARTITION BY meter_code ORDER BY at_ms)
)
SELECT
  meter_code,
  before_ms AS start_ms,
  at_ms AS end_ms,
  CASE WHEN value_wh >= before_wh THEN round(value_wh - before_wh, 3) END AS energy_wh,
  direction,
  CASE
    WHEN value_wh < before_wh THEN 'fault'
    -- The order of the values of an ENUM is the order in which it names them.
    ELSE list_max([before_quality, quality]::ENUM ('measured', 'estimated', 'substituted', 'fault')[])::VARCHAR
  END AS quality
FROM step
WHERE before_ms IS NOT NULL;

-- name: take_register_intervals
-- Adds the intervals of registers to incoming, which is empty again, so that the statements of intervals
-- compare and store them. They have line 0, because they are no lines of the file. Their revision is 1 until
-- set_revisions finds the readings that they replace.
INSERT INTO incoming BY NAME
SELECT row_number() OVER () AS new_id, 0 AS line, meter_code, '' AS scenario, '' AS granularity, start_ms, end_ms,
  energy_wh AS amount_wh, direction, quality, 1 AS revision, false AS is_same
FROM register_interval;

-- name: mark_dirty_months
-- Marks the months of the lake with new or replaced readings.
INSERT INTO dirty_partition BY NAME
SELECT DISTINCT 'meter_reading' AS dataset, strftime(make_timestamp_ms(start_ms), '%Y-%m') AS partition
FROM meter_reading WHERE upload_id = $upload_id OR replaced_by = $upload_id;

-- name: store_upload
-- Stores the upload in the ledger. $stored_count: number of new rows.
INSERT INTO upload (upload_id, kind, name, content_hash, actor, row_count, stored_count, revision, received_at_ms)
VALUES ($upload_id, $kind, $name, $content_hash, $actor, $row_count, $stored_count, $revision, $now_ms);
