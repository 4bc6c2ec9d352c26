-- How things are called in the configuration. $names: JSON, an array of { id, name }.
SELECT named->>'id' AS id, named->>'name' AS name FROM (SELECT unnest(from_json($names, '["JSON"]')) AS named)
