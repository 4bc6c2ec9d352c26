-- Days that are final by now: over for longer than late data are waited for. $before: first local day that is not.
UPDATE daily_energy SET status = 'final' WHERE status = 'provisional' AND day < $before::DATE;
