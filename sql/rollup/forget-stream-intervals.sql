-- Removes the energy of a stream that is no longer configured; its readings stay.
DELETE FROM interval_energy WHERE series_id IN (SELECT series_id FROM series WHERE stream_id = $stream_id);
