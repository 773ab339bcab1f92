-- Raw readings as schema 4 kept them: a row for each.
INSERT INTO raw_counters VALUES ('old', 'ib.symbol_error', 'a', 'X+', toDateTime64(241.5, 3), 3, toDateTime64(240, 3), 7, now()),
    ('old', 'new.thing', 'a', 'X+', toDateTime64(241.5, 3), 9223372036854775808, toDateTime64(240, 3), 7, now());
