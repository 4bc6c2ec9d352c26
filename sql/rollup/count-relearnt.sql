-- Of how many series the rules have changed.
SELECT count(*) AS count FROM relearnt;
