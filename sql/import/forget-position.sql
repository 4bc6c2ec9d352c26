-- An import that is over ($import_id) needs no position any more.
DELETE FROM checkpoint WHERE starts_with(origin, 'import:') AND ends_with(origin, ':' || $import_id::BIGINT);
