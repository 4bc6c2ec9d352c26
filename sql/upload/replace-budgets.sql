-- Notes at rows that they no longer count.
UPDATE budget SET replaced_by = $upload_id WHERE rowid IN (SELECT row_id FROM replaced_row);
