-- 20 Compare: which rows of the upload are new, and which rows they replace.
--
-- Reads   incoming, uploaded_time; meter_reading, meter_register, budget.
-- Writes  current_row (temporary: current rows), overlap (temporary: one row for each pair of overlapping
--         rows), replaced_row (temporary), incoming (revision and is_same).
-- Why     Sending the same rows again changes nothing. A row that covers a current row only in part is
--         refused, because the rest would be lost.

-- name: create_current_row
-- Creates the table for the current rows. One of the three statements below fills it.
-- current_row:
--   row_id                              rowid in the target table, which stays the same in a transaction
--   meter_code, start_ms, end_ms        as in the table incoming of 10_take.sql
--   scenario, granularity               as there; empty if the row is not of a budget
--   amount_wh                           as there
--   direction, quality                  as there; null: of a budget
--   revision
--   received_at_ms                      null: a value of a register. Only the refusal of a partly covered
--                                       row shows it, and such a value is never partly covered
CREATE OR REPLACE TEMP TABLE current_row (
  row_id BIGINT, meter_code VARCHAR, scenario VARCHAR DEFAULT '', granularity VARCHAR DEFAULT '',
  start_ms BIGINT, end_ms BIGINT, amount_wh DOUBLE, direction VARCHAR, quality VARCHAR, revision INTEGER,
  received_at_ms BIGINT
);

-- name: collect_current_intervals
-- Finds the current readings of the meters and times of the upload.
INSERT INTO current_row BY NAME
SELECT meter_reading.rowid AS row_id, meter_reading.meter_code, meter_reading.start_ms, meter_reading.end_ms,
  meter_reading.energy_wh AS amount_wh, meter_reading.direction, meter_reading.quality, meter_reading.revision,
  meter_reading.received_at_ms
FROM meter_reading JOIN uploaded_time() AS uploaded USING (meter_code)
WHERE meter_reading.replaced_by IS NULL AND meter_reading.start_ms < uploaded.to_ms
  AND meter_reading.end_ms > uploaded.from_ms;

-- name: collect_current_registers
-- Finds the current register values of the meters and times of the upload.
INSERT INTO current_row BY NAME
SELECT meter_register.rowid AS row_id, meter_register.meter_code, meter_register.at_ms AS start_ms,
  meter_register.at_ms AS end_ms, meter_register.value_wh AS amount_wh, meter_register.direction,
  meter_register.quality, meter_register.revision
FROM meter_register JOIN uploaded_time() AS uploaded USING (meter_code)
WHERE meter_register.replaced_by IS NULL AND meter_register.at_ms BETWEEN uploaded.from_ms AND uploaded.to_ms;

-- name: collect_current_budgets
-- Finds the current budgets of the meters and times of the upload.
INSERT INTO current_row BY NAME
SELECT budget.rowid AS row_id, budget.meter_code, budget.scenario,
  granularity(budget.period_start, budget.period_end) AS granularity, epoch_ms(budget.period_start) AS start_ms,
  epoch_ms(budget.period_end + 1) AS end_ms, budget.energy_wh AS amount_wh, budget.revision,
  budget.uploaded_at_ms AS received_at_ms
FROM budget JOIN uploaded_time() AS uploaded USING (meter_code)
WHERE budget.replaced_by IS NULL AND epoch_ms(budget.period_start) < uploaded.to_ms
  AND epoch_ms(budget.period_end + 1) > uploaded.from_ms;

-- name: collect_same_places
-- Finds rows of the upload with the same place as a current row. They overlap no other row, because neither
-- side overlaps itself. Budgets of the same period have the same granularity.
-- overlap:
--   row_id                 of the current row
--   new_id                 of the row of the upload
--   revision               of the current row
--   length_ms, shared_ms   the length of the current row, and the part of it that the new row covers
--   is_same                both rows say the same
CREATE OR REPLACE TEMP TABLE overlap AS
SELECT
  current_row.row_id,
  incoming.new_id,
  current_row.revision,
  current_row.end_ms - current_row.start_ms AS length_ms,
  current_row.end_ms - current_row.start_ms AS shared_ms,
  current_row.amount_wh IS NOT DISTINCT FROM incoming.amount_wh
    AND current_row.direction IS NOT DISTINCT FROM incoming.direction
    AND current_row.quality IS NOT DISTINCT FROM incoming.quality AS is_same
FROM current_row JOIN incoming USING (meter_code, scenario, start_ms, end_ms);

-- name: collect_overlaps
-- Adds the rows of the upload that overlap current rows with another start or end.
INSERT INTO overlap BY NAME
WITH other_current AS (
  -- The current rows that have no counterpart with the same place.
  SELECT row_id, meter_code, scenario, granularity, start_ms AS current_start, end_ms AS current_end, revision
  FROM current_row ANTI JOIN overlap USING (row_id)
), other_new AS (
  -- The rows of the upload that have no counterpart with the same place.
  SELECT new_id, meter_code, scenario, granularity, start_ms AS new_start, end_ms AS new_end
  FROM incoming ANTI JOIN overlap USING (new_id)
), pair AS (
  -- Two rows that overlap: the row of the upload begins within the current one or with it, or the current one
  -- begins later and within the row of the upload. The ASOF join finds the latest such row of the same meter,
  -- scenario and granularity.
  SELECT row_id, new_id, revision, current_start, current_end, new_start, new_end
  FROM other_new ASOF JOIN other_current
    ON other_new.meter_code = other_current.meter_code AND other_new.scenario = other_current.scenario
    AND other_new.granularity = other_current.granularity AND new_start >= current_start
  WHERE current_end > new_start
  UNION ALL BY NAME
  SELECT row_id, new_id, revision, current_start, current_end, new_start, new_end
  FROM other_current ASOF JOIN other_new
    ON other_new.meter_code = other_current.meter_code AND other_new.scenario = other_current.scenario
    AND other_new.granularity = other_current.granularity AND current_start > new_start
  WHERE new_end > current_start
)
SELECT
  row_id,
  new_id,
  revision,
  current_end - current_start AS length_ms,
  least(current_end, new_end) - greatest(current_start, new_start) AS shared_ms,
  false AS is_same
FROM pair;

-- name: find_conflicts
-- Returns the current rows that the upload covers only in part, so the rest would be lost. At most $rows_max.
-- Columns:
--   line                               of the row of the upload
--   start_ms, end_ms, received_at_ms   of the current row
WITH cut AS (
  -- The current rows that the upload covers only in part.
  SELECT row_id, min(new_id) AS new_id FROM overlap GROUP BY row_id HAVING sum(shared_ms) < any_value(length_ms)
)
SELECT
  incoming.line::DOUBLE AS line,
  current_row.start_ms::DOUBLE AS start_ms,
  current_row.end_ms::DOUBLE AS end_ms,
  current_row.received_at_ms::DOUBLE AS received_at_ms
FROM cut JOIN incoming USING (new_id) JOIN current_row USING (row_id)
ORDER BY incoming.line
LIMIT $rows_max::BIGINT;

-- name: set_revisions
-- Sets is_same and revision of the rows of the upload that overlap current rows. A row that equals its
-- current row gets the revision of that row, and is not stored. Any other row gets a revision one above the
-- highest one of the rows that it replaces.
UPDATE incoming SET is_same = matched.is_same,
  revision = CASE WHEN matched.is_same THEN matched.revision ELSE matched.revision + 1 END
FROM (SELECT new_id, max(revision) AS revision, bool_or(is_same) AS is_same FROM overlap GROUP BY new_id) AS matched
WHERE incoming.new_id = matched.new_id;

-- name: collect_replaced
-- Finds the rows that the upload replaces.
-- replaced_row:
--   row_id   rowid in the target table
CREATE OR REPLACE TEMP TABLE replaced_row AS
SELECT DISTINCT row_id FROM overlap WHERE NOT is_same;

-- name: count_upload
-- Counts the results of an upload.
-- Columns:
--   row_count        rows of the upload
--   stored_count     of these, the rows that are not stored yet
--   revision         the highest revision of its rows
--   replaced_count   stored rows that no longer count
SELECT
  count(*)::DOUBLE AS row_count,
  count(*) FILTER (NOT is_same)::DOUBLE AS stored_count,
  max(revision)::DOUBLE AS revision,
  (SELECT count(*) FROM replaced_row)::DOUBLE AS replaced_count
FROM incoming;
