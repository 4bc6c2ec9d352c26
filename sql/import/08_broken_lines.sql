-- 08 Broken lines: the lines of a CSV file that DuckDB cannot read.
--
-- Reads   reject_errors (DuckDB fills it while it reads a CSV file with store_rejects).
-- Writes  nothing. Runs in the database in memory that reads the file of an import.
-- Why     A person corrects these lines and imports the file again, so each line has one clear error.

-- name: list_broken_lines
-- Returns the broken lines in their order, with one error each. DuckDB stores one error for each missing
-- cell, so the error of the first column is used. If a quote is not closed, the line continues up to the
-- next quote, and DuckDB keeps only its beginning. A cell in quotes may have several lines, so the line break
-- alone is no fault.
-- Columns:
--   line      number of the line, from 1 on
--   error
--   content   the beginning of the line, at most $content_max characters
SELECT line::DOUBLE AS line,
  CASE
    WHEN bool_or(error_type = 'UNQUOTED VALUE') AND contains(any_value(csv_line), chr(10))
      THEN concat('a quote is not closed in this line, so the lines below it, up to the next quote, are lost with it; ',
        'correct it and import the file again')
    ELSE lower(coalesce(arg_min(error_type::VARCHAR, column_idx), any_value(error_type::VARCHAR)))
  END AS error,
  left(any_value(csv_line), $content_max::INTEGER) AS content
FROM reject_errors
GROUP BY line
ORDER BY line;
