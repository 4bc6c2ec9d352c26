-- Every month (UTC, of the interval's start) that has readings of meters, YYYY-MM.
SELECT DISTINCT strftime(make_timestamp(start_ms * 1000), '%Y-%m') AS month FROM meter_reading ORDER BY ALL;
