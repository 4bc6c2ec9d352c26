-- What other methods say of the explained day of a source ($source) that contradict the one that it is read from.
SELECT stream_id, energy_wh::DOUBLE AS energy_wh FROM day_contradiction WHERE source = $source ORDER BY stream_id;
