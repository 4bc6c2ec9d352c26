-- 20 Compare: which rows of the upload are new, and which rows they replace.
--
-- Reads   incoming; meter_reading, meter_register, budget.
-- Writes  current_row (temporary: current rows), overlap (temporary: one row for each pair of overlapping
--         rows), replaced_row (temporary), incoming (revision and is_same).
-- Why     Sending the same rows again changes nothing. A row that covers a current row only in part is
--         refused, because the rest would be lost.

-- name: find_current_intervals
-- Selects the current readings of the meters and times of the upload.
-- current_row:
--   row_id                                                rowid in the target table
--   key, start_at, end_at, energy_wh, direction, detail   see create_incoming
--   revision, received_at_ms
CREATE OR REPLACE TEMP TABLE current_row AS
WITH span AS (SELECT meter_code, min(start_at) AS start_at, max(end_at) AS end_at FROM incoming GROUP BY ALL)
SELECT meter_reading.rowid AS row_id, meter_reading.meter_code AS key, meter_reading.start_ms AS start_at,
  meter_reading.end_ms AS end_at, meter_reading.energy_wh, meter_reading.direction, meter_reading.quality AS detail,
  meter_reading.revision, meter_reading.received_at_ms
FROM meter_reading JOIN span USING (meter_code)
WHERE meter_reading.replaced_by IS NULL AND meter_reading.start_ms < span.end_at
  AND meter_reading.end_ms > span.start_at;

-- name: find_current_registers
-- Selects the current register values of the meters and times of the upload.
CREATE OR REPLACE TEMP TABLE current_row AS
WITH span AS (SELECT meter_code, min(start_at) AS start_at, max(end_at) AS end_at FROM incoming GROUP BY ALL)
SELECT meter_register.rowid AS row_id, meter_register.meter_code AS key, meter_register.at_ms AS start_at,
  meter_register.at_ms AS end_at, meter_register.value_wh AS energy_wh, meter_register.direction,
  meter_register.quality AS detail, meter_register.revision, 0 AS received_at_ms
FROM meter_register JOIN span USING (meter_code)
WHERE meter_register.replaced_by IS NULL AND meter_register.at_ms BETWEEN span.start_at AND span.end_at;

-- name: find_current_budgets
-- Selects the current budgets of the meters, scenarios and kinds of period of the upload.
CREATE OR REPLACE TEMP TABLE current_row AS
WITH known AS (
  -- The current budgets. key: meter, scenario and kind of period.
  SELECT
    rowid AS row_id,
    concat_ws(chr(10), meter_code, scenario, CASE
      WHEN period_start = period_end THEN 'day'
      WHEN day(period_start) = 1 AND period_end = last_day(period_start) THEN 'month'
      WHEN dayofyear(period_start) = 1 AND period_end = make_date(year(period_start), 12, 31) THEN 'year'
      ELSE 'other'
    END) AS key,
    period_start - DATE '1970-01-01' AS start_at,
    period_end - DATE '1970-01-01' + 1 AS end_at,
    energy_wh::DOUBLE AS energy_wh,
    NULL::VARCHAR AS direction,
    scenario AS detail,
    revision,
    uploaded_at_ms AS received_at_ms
  FROM budget
  WHERE replaced_by IS NULL
)
SELECT * FROM known WHERE key IN (SELECT key FROM incoming);

-- name: find_same_places
-- Finds rows of the upload with the same place as a current row. They overlap no other row, because neither
-- side overlaps itself.
-- overlap:
--   row_id           of the current row
--   new_id           of the row of the upload
--   revision         of the current row
--   length, shared   the length of the current row, and the part of it that the new row covers
--   is_same          both rows say the same
CREATE OR REPLACE TEMP TABLE overlap AS
SELECT
  current_row.row_id,
  inc.rowid AS new_id,
  current_row.revision,
  current_row.end_at - current_row.start_at AS length,
  current_row.end_at - current_row.start_at AS shared,
  current_row.energy_wh IS NOT DISTINCT FROM inc.energy_wh AND current_row.direction IS NOT DISTINCT FROM inc.direction
    AND current_row.detail = inc.detail AS is_same
FROM current_row JOIN incoming inc USING (key, start_at, end_at);

-- name: find_overlaps
-- Adds the rows of the upload that overlap current rows otherwise. Of two overlapping rows, one begins within
-- the other.
INSERT INTO overlap BY NAME
WITH kept AS (
  -- The current rows that have no counterpart with the same place.
  FROM current_row ANTI JOIN overlap USING (row_id)
), placed AS (
  -- The rows of the upload that have none.
  SELECT inc.rowid AS new_id, inc.key, inc.start_at, inc.end_at
  FROM incoming inc
  ANTI JOIN overlap ON inc.rowid = overlap.new_id
), pair AS (
  -- Two rows that overlap: the row of the upload begins in the current one, or the current one begins in it.
  SELECT kept.row_id, placed.new_id, kept.revision, kept.start_at AS current_start, kept.end_at AS current_end,
    placed.start_at AS new_start, placed.end_at AS new_end
  FROM placed ASOF JOIN kept ON placed.key = kept.key AND placed.start_at >= kept.start_at
  WHERE kept.end_at > placed.start_at
  UNION BY NAME
  SELECT kept.row_id, placed.new_id, kept.revision, kept.start_at AS current_start, kept.end_at AS current_end,
    placed.start_at AS new_start, placed.end_at AS new_end
  FROM kept ASOF JOIN placed ON kept.key = placed.key AND kept.start_at >= placed.start_at
  WHERE placed.end_at > kept.start_at
)
SELECT row_id, new_id, revision, current_end - current_start AS length,
  least(current_end, new_end) - greatest(current_start, new_start) AS shared,
  false AS is_same
FROM pair;

-- name: find_conflicts
-- Returns the current rows that the upload covers only in part, so the rest would be lost. At most $rows_max.
-- Columns:
--   line                               of the row of the upload
--   start_at, end_at, received_at_ms   of the current row
WITH cut AS (SELECT row_id, min(new_id) AS new_id FROM overlap GROUP BY row_id HAVING sum(shared) < any_value(length))
SELECT inc.line::DOUBLE AS line, current_row.start_at::DOUBLE AS start_at, current_row.end_at::DOUBLE AS end_at,
  current_row.received_at_ms::DOUBLE AS received_at_ms
FROM cut JOIN incoming inc ON inc.rowid = cut.new_id JOIN current_row USING (row_id)
ORDER BY inc.line
LIMIT $rows_max::BIGINT;

-- name: set_revisions
-- Marks rows that equal the current ones, which are not stored again. The others get a revision one above the
-- row that they replace.
UPDATE incoming SET is_same = matched.is_same, revision = matched.revision + CASE WHEN matched.is_same THEN 0 ELSE 1 END
FROM (SELECT new_id, max(revision) AS revision, bool_or(is_same) AS is_same FROM overlap GROUP BY new_id) AS matched
WHERE incoming.rowid = matched.new_id;

-- name: find_replaced
-- Finds the rows that the upload replaces.
-- replaced_row:
--   row_id   rowid in the target table
CREATE OR REPLACE TEMP TABLE replaced_row AS
SELECT DISTINCT row_id FROM overlap WHERE NOT is_same;

-- name: count_upload
-- Counts the results of an upload.
SELECT
  count(*)::DOUBLE AS row_count,
  count(*) FILTER (NOT is_same)::DOUBLE AS stored_count,
  max(revision) AS revision,
  (SELECT count(*) FROM replaced_row)::DOUBLE AS replaced_count
FROM incoming;
