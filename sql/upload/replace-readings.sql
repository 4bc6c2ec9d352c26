-- Notes at rows that they no longer count.
UPDATE meter_reading SET replaced_by = $upload_id WHERE rowid IN (SELECT row_id FROM replaced_row);
