-- Adds the rows of the upload that lie across rows that count. Of two that overlap, one begins within the other.
INSERT INTO overlap
WITH kept AS (FROM current_row ANTI JOIN overlap USING (row_id)),
placed AS (SELECT i.rowid AS new_id, i.key, i.start_at, i.end_at FROM incoming i ANTI JOIN overlap o ON i.rowid = o.new_id),
pair AS (
  SELECT c.row_id, n.new_id, c.revision, c.start_at AS c_start, c.end_at AS c_end, n.start_at AS n_start, n.end_at AS n_end
  FROM placed n ASOF JOIN kept c ON n.key = c.key AND n.start_at >= c.start_at
  WHERE c.end_at > n.start_at
  UNION
  SELECT c.row_id, n.new_id, c.revision, c.start_at, c.end_at, n.start_at, n.end_at
  FROM kept c ASOF JOIN placed n ON c.key = n.key AND c.start_at >= n.start_at
  WHERE n.end_at > c.start_at
)
SELECT row_id, new_id, revision, c_end - c_start, least(c_end, n_end) - greatest(c_start, n_start), false FROM pair;
