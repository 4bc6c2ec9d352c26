-- How many readings are new, and how many were rejected.
SELECT (SELECT count(*) FROM incoming) AS readings, (SELECT count(*) FROM extracted WHERE reason IS NOT NULL) AS rejected;
