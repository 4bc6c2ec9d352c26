-- What the quality flags mean.
SELECT flag, meaning FROM quality_flag ORDER BY bit
