-- What the exported rows ("exported": day, row_key, energy_wh) come to by day, to see later whether they have changed. hash does not
-- depend on their order, nor on the version of DuckDB.
SELECT
  day::VARCHAR AS day,
  count(*) AS row_count,
  sum(energy_wh)::BIGINT AS energy_wh,
  bit_xor(md5_number_lower(concat(row_key, '=', energy_wh)))::VARCHAR AS hash
FROM exported
GROUP BY day
ORDER BY day
