-- How many values "chosen" has.
SELECT count(*)::DOUBLE AS value_count FROM chosen
