-- Why a gap could not be filled.
UPDATE gap SET note = $note WHERE gap_id = $gap_id::BIGINT;
