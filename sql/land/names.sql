-- Every name and its id.
-- Columns: name_id, name.
SELECT name_id, name FROM name ORDER BY name_id
