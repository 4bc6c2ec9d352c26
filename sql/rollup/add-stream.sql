-- Adds an energy stream that has taken in nothing yet.
INSERT INTO energy_stream (stream_id, identity, settings, batch_id) VALUES ($stream_id, $identity, NULL, -1);
