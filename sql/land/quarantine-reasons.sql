-- What is in quarantine and what was rejected, by reason, the most frequent first.
SELECT reason, sum(readings)::DOUBLE AS readings
FROM (
  SELECT reason, count(*) AS readings FROM quarantine GROUP BY reason
  UNION ALL
  SELECT reason, sum(readings) FROM rejected_reading GROUP BY reason
)
GROUP BY reason
ORDER BY readings DESC, reason
