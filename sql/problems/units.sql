-- What a field beside the readings of a table says of their unit, in the newest messages that are kept. $table, $unit_pointer: JSON pointer.
SELECT DISTINCT try(json_extract_string(other, $unit_pointer)) AS unit
FROM (
  SELECT other FROM message
  WHERE kind = 0 AND other IS NOT NULL AND table_id = (SELECT name_id FROM name WHERE name = $table)
  ORDER BY batch_id DESC, stream_offset DESC
  LIMIT 20000
)
WHERE unit IS NOT NULL
ORDER BY unit
LIMIT 5;
