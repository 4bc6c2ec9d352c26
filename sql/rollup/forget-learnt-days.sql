-- See forget-learnt.
DELETE FROM series_day WHERE series_id IN (
  SELECT series_id FROM series_rule WHERE NOT learns AND stream_id IN (SELECT stream_id FROM restated_stream));
