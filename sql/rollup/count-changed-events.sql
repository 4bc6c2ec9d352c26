-- How many events have changed.
SELECT count(*) AS count FROM changed_event;
