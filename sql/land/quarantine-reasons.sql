-- What is in quarantine by reason, the most frequent first.
SELECT reason, count(*)::DOUBLE AS readings FROM quarantine GROUP BY reason ORDER BY readings DESC, reason
