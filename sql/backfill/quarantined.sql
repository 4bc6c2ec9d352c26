-- Which of these whole messages ($offsets) are in quarantine. Columns: stream_offset.
SELECT stream_offset FROM quarantine WHERE stage = 'land' AND list_contains($offsets::UBIGINT[], stream_offset);
