-- Marks a stream whose rules have changed: all its series are computed again.
INSERT INTO restated_stream VALUES ($stream_id);
