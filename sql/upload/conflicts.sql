-- Rows of the upload that cover a row that counts in part: the rest of it would be lost. key, start_at, end_at, received_at_ms: of that row.
WITH cut AS (SELECT row_id, min(new_id) AS new_id FROM overlap GROUP BY row_id HAVING sum(shared) < any_value(length))
SELECT n.line::DOUBLE AS line, c.start_at::DOUBLE AS start_at, c.end_at::DOUBLE AS end_at, c.received_at_ms::DOUBLE AS received_at_ms
FROM cut JOIN incoming n ON n.rowid = cut.new_id JOIN current_row c USING (row_id)
ORDER BY n.line
LIMIT 1000;
