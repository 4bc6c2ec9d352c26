-- Removes what was learnt before from the days that look different now.
DELETE FROM series_day USING learnt_day l WHERE series_day.series_id = l.series_id AND series_day.utc_day = l.utc_day;
