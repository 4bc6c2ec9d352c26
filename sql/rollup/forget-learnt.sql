-- Removes what was learnt of series that have nothing to learn any more, so that nothing stale is there if they do again.
DELETE FROM series_quarter WHERE series_id IN (
  SELECT series_id FROM series_rule WHERE NOT learns AND stream_id IN (SELECT stream_id FROM restated_stream));
