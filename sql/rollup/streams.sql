-- The energy streams that have been rolled up so far.
SELECT stream_id, identity, settings, batch_id FROM energy_stream ORDER BY stream_id;
