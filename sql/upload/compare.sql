-- Which rows of the upload lie where there are rows that count: at the same place, or across some. Neither overlap among themselves, so a
-- row at the same place as another overlaps no third one. shared: how much of the length of the row that counts is covered.
CREATE OR REPLACE TEMP TABLE overlap AS
WITH same_place AS (
  SELECT
    c.row_id,
    n.rowid AS new_id,
    c.revision,
    c.end_at - c.start_at AS length,
    c.end_at - c.start_at AS shared,
    c.energy_wh IS NOT DISTINCT FROM n.energy_wh AND c.direction IS NOT DISTINCT FROM n.direction AND c.detail = n.detail AS is_same
  FROM current_row c JOIN incoming n USING (key, start_at, end_at)
),
other_place AS (
  SELECT
    c.row_id,
    n.new_id,
    c.revision,
    c.end_at - c.start_at AS length,
    least(c.end_at, n.end_at) - greatest(c.start_at, n.start_at) AS shared,
    false AS is_same
  FROM (FROM current_row WHERE row_id NOT IN (SELECT row_id FROM same_place)) c
  JOIN (SELECT rowid AS new_id, * FROM incoming WHERE rowid NOT IN (SELECT new_id FROM same_place)) n
    ON c.key = n.key AND c.start_at < n.end_at AND n.start_at < c.end_at
)
FROM same_place UNION ALL FROM other_place;
