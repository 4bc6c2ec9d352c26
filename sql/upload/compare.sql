-- Which rows of the upload lie at the same place as rows that count. They overlap no third one, as neither overlap among themselves.
-- shared: how much of the length of the row that counts is covered.
CREATE OR REPLACE TEMP TABLE overlap AS
SELECT
  c.row_id,
  n.rowid AS new_id,
  c.revision,
  c.end_at - c.start_at AS length,
  c.end_at - c.start_at AS shared,
  c.energy_wh IS NOT DISTINCT FROM n.energy_wh AND c.direction IS NOT DISTINCT FROM n.direction AND c.detail = n.detail AS is_same
FROM current_row c JOIN incoming n USING (key, start_at, end_at);
