-- Notes the series of which a day looks different now.
INSERT INTO learnt_series SELECT DISTINCT series_id FROM learnt_day;
