-- How many messages of the lake wait for the roll-up. Columns: messages.
SELECT count(*)::DOUBLE AS messages FROM archived_message;
