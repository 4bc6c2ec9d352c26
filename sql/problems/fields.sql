-- The fields of the newest messages of a table ($table) that are kept, those first whose names resemble $field.
WITH newest AS (
  SELECT field_ids, other FROM message
  WHERE kind = 0 AND table_id = (SELECT name_id FROM name WHERE name = $table)
  ORDER BY batch_id DESC, stream_offset DESC
  LIMIT 20000
)
SELECT field FROM (
  SELECT name AS field FROM name WHERE name_id IN (SELECT DISTINCT unnest(field_ids) FROM newest)
  UNION
  SELECT DISTINCT unnest(try(json_keys(other))) FROM newest WHERE other IS NOT NULL
)
ORDER BY jaro_winkler_similarity(lower(field), lower($field)) DESC, field;
