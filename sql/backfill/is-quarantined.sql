-- Whether a message without an offset is in quarantine already. $bytes: the message as it came. Columns: is_known.
SELECT count(*) > 0 AS is_known FROM quarantine WHERE stage = 'land' AND stream_offset IS NULL AND bytes = $bytes;
