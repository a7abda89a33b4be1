package sqlite

import "strings"

type statements struct {
	held, keys, same, put, remove                         string
	reform, end, record, endUnrecorded, recordRows, prune string
	clamp                                                 []string
}

// statementsOf writes the name of the table for $T, and that of its history for $H.
func statementsOf(name string) statements {
	sql := func(s string) string {
		return strings.NewReplacer("$T", `"`+name+`"`, "$H", `"`+name+`_history"`).Replace(s)
	}
	return statements{
		// CROSS JOIN: for each key its row, in this order. SQLite would choose the other one, and
		// read the whole table and all keys of each row.
		// https://www.sqlite.org/lang_select.html#crossjoin
		held: sql(`SELECT k.key, t.uid, t.resource_version FROM json_each(?1) k CROSS JOIN $T t ON t.cluster = ?2 AND t.key = k.value`),
		keys: sql(`SELECT key FROM $T WHERE cluster = ?1 AND key > ?2 ORDER BY key LIMIT ?3`),
		same: sql(`SELECT uid, resource_version, object FROM $T WHERE cluster = ?1 AND key = ?2`),
		// The object comes as bytes, because a string would be a copy of them; the CAST costs
		// nothing.
		put: sql(`INSERT INTO $T (cluster, key, namespace, name, uid, resource_version, object) VALUES (?1, ?2, ?3, ?4, ?5, ?6, CAST(?7 AS TEXT))
			ON CONFLICT (cluster, key) DO UPDATE SET uid = excluded.uid, resource_version = excluded.resource_version, object = excluded.object`),
		remove: sql(`DELETE FROM $T WHERE cluster = ?1 AND key = ?2`),

		reform: sql(`UPDATE $H SET object = CAST(?5 AS TEXT) WHERE cluster = ?1 AND key = ?2 AND to_time IS NULL AND uid = ?3 AND resource_version = ?4`),
		// A Put with another UID ends the state of an object whose deletion nobody saw. Some
		// servers set no UID: "" is no other one.
		end: sql(`UPDATE $H SET to_time = ?3,
			to_version = iif(?5 = 'put' AND uid <> ?6 AND uid <> '' AND ?6 <> '', NULL, ?4),
			ended = iif(?5 = 'put' AND uid <> ?6 AND uid <> '' AND ?6 <> '', 'inferred', ?5)
			WHERE cluster = ?1 AND key = ?2 AND to_time IS NULL`),
		record: sql(`INSERT INTO $H (cluster, key, namespace, name, uid, resource_version, from_time, object) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, CAST(?8 AS TEXT))`),
		endUnrecorded: sql(`UPDATE $H SET to_time = ?2, ended = 'unrecorded' WHERE cluster = ?1 AND to_time IS NULL
			AND NOT EXISTS (SELECT 1 FROM $T t WHERE t.cluster = ?1 AND t.key = $H.key AND t.uid = $H.uid AND t.resource_version = $H.resource_version)`),
		recordRows: sql(`INSERT INTO $H (cluster, key, namespace, name, uid, resource_version, from_time, object)
			SELECT t.cluster, t.key, t.namespace, t.name, t.uid, t.resource_version, ?2, t.object FROM $T t
			WHERE t.cluster = ?1 AND NOT EXISTS (SELECT 1 FROM $H h WHERE h.cluster = ?1 AND h.key = t.key AND h.to_time IS NULL)`),
		clamp: []string{
			sql(`UPDATE $H SET from_time = min(from_time, ?2), to_time = ?2 WHERE cluster = ?1 AND to_time > ?2`),
			sql(`UPDATE $H SET from_time = ?2 WHERE cluster = ?1 AND to_time IS NULL AND from_time > ?2`),
		},
		prune: sql(`DELETE FROM $H WHERE rowid IN (SELECT rowid FROM $H WHERE cluster = ?1 AND to_time < ?2 ORDER BY to_time LIMIT ?3)`),
	}
}
