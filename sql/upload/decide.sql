-- Rows that say what counts already are not stored again; the others are one revision above what they replace.
UPDATE incoming SET is_same = o.is_same, revision = o.revision + CASE WHEN o.is_same THEN 0 ELSE 1 END
FROM (SELECT new_id, max(revision) AS revision, bool_or(is_same) AS is_same FROM overlap GROUP BY new_id) o
WHERE incoming.rowid = o.new_id;
