-- The fields of the messages of some batches ($batches), with how many values each has: numbers, and whatever else came.
-- Nothing where the warehouse no longer keeps these messages.
WITH own AS (
  SELECT field_ids, other FROM message WHERE batch_id IN (SELECT unnest($batches::BIGINT[])) AND kind = 0
)
SELECT field, sum(value_count)::DOUBLE AS value_count
FROM (
  SELECT n.name AS field, count(*) AS value_count
  FROM (SELECT unnest(field_ids) AS name_id FROM own) JOIN name n USING (name_id)
  GROUP BY n.name
  UNION ALL
  SELECT field, count(*) FROM (SELECT unnest(try(json_keys(other))) AS field FROM own WHERE other IS NOT NULL) GROUP BY field
)
GROUP BY field
ORDER BY field;
