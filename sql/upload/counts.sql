-- What an upload comes to.
SELECT
  count(*)::DOUBLE AS row_count,
  count(*) FILTER (NOT is_same)::DOUBLE AS stored_count,
  max(revision) AS revision,
  (SELECT count(*) FROM replaced_row)::DOUBLE AS replaced_count
FROM incoming;
