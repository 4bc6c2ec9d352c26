-- How many rows a table has is not known within the transaction that makes it, and few rows would be joined one by one.
SET SESSION asof_loop_join_threshold = 0;
