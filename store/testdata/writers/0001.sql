-- A fabric of two switches, as it was stored under schema 1.
INSERT INTO devices VALUES ('old', 7, 0, 'a', 'switch', '', '', 0, 0, [0]), ('old', 7, 1, 'b', 'switch', '', '', 0, 0, [1]);
INSERT INTO links VALUES ('old', 7, 0, 'a', 'X+', 'b', 'X-', 'torus', 1e9, 0, [0], true), ('old', 7, 1, 'b', 'X-', 'a', 'X+', 'torus', 1e9, 0, [1], true);
INSERT INTO fabrics VALUES ('old', 7, 0, false, [2], false, 2, 2, now64(6));
