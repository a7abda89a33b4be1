package postgres

import "strings"

// statements are those of one table.
//
// Each row has a statement of its own, and all of them are sent together, before the answer to the
// first. COPY into a temporary table, and one statement with arrays, were measured with 1, 8 and
// 500 rows: both cost the server more for every number of rows, because each object is copied once
// or twice more.
type statements struct {
	held, keys, load, first, begin, put, remove, commit  string
	reform, end, record, endUnrecorded, recordRows       string
	addGap, endGaps, endList, beginOff, prune, pruneGaps string

	// These bring back times that are later than now.
	clampFormer, clampPresent, clampEndedGaps, clampGaps string
}

const endGaps = `UPDATE $G SET to_version = $3, to_time = $4 WHERE table_name = $1 AND cluster = $2 AND to_time IS NULL`

// statements writes the name of the table for $T, that of its history for $H, and so on.
func (db *DB) statements(table string) statements {
	sql := strings.NewReplacer("$T", db.name(table), "$H", db.name(table+"_history"), "$S", db.name("relist_state"), "$G", db.name("relist_gaps")).Replace
	return statements{
		// Written as a join, its plan would depend on the statistics, see DB.session.
		held: sql(`SELECT u.place, o.uid, o.resource_version FROM unnest($2::text[], $3::int[]) AS u(key, place)
			CROSS JOIN LATERAL (SELECT t.uid, t.resource_version FROM $T t WHERE t.cluster = $1 AND t.key = u.key LIMIT 1) o`),
		keys: sql(`SELECT key FROM $T WHERE cluster = $1 AND key > $2 ORDER BY key LIMIT $3`),
		load: sql(`SELECT epoch, version, state::text FROM $S WHERE table_name = $1 AND cluster = $2`),

		first: sql(`INSERT INTO $S (table_name, cluster, epoch, version, current_at, committed, state, recorded, recorded_version)
			VALUES ($1, $2, 0, '', now(), now(), '{}', true, '') ON CONFLICT DO NOTHING`),
		// If another transaction has changed the row and has not ended, this waits. Then READ
		// COMMITTED looks at the WHERE again, with the row as it was committed. From here on, this
		// transaction has the row, so no other program changes the rows of the copy, and each later
		// statement sees all that was committed before. A stricter level would guard nothing more,
		// and fail more often.
		begin: sql(`UPDATE $S SET epoch = epoch WHERE table_name = $1 AND cluster = $2 AND epoch = $3 AND version = $4
			RETURNING now(), committed > now(), least(current_at, now()), recorded, recorded_version, CASE WHEN recorded_at > now() THEN now() ELSE recorded_at END`),
		// Opening the copy, which changes the epoch, says nothing about its rows: a program that
		// opens it again and again and writes nothing must not look alive.
		commit: sql(`UPDATE $S SET epoch = $3, version = $4, current_at = $5, committed = CASE WHEN epoch = $3 THEN $6 ELSE committed END, state = $7, recorded = $8, recorded_version = $9, recorded_at = $10
			WHERE table_name = $1 AND cluster = $2`),

		// A row that is equal already is left out before the INSERT: ON CONFLICT would lock it,
		// which writes it. Objects are compared last: usually the version says enough, and the
		// object of the row need not be read.
		put: sql(`INSERT INTO $T (cluster, key, uid, resource_version, object) SELECT $1, $2, $3, $4, $5::jsonb
			WHERE NOT EXISTS (SELECT FROM $T WHERE cluster = $1 AND key = $2 AND uid = $3 AND resource_version = $4 AND object = $5::jsonb)
			ON CONFLICT (cluster, key) DO UPDATE SET uid = excluded.uid, resource_version = excluded.resource_version, object = excluded.object`),
		remove: sql(`DELETE FROM $T WHERE cluster = $1 AND key = $2`),

		// A state that is the same version in another form, for example because the program now
		// drops other members, is replaced.
		reform: sql(`UPDATE $H SET object = $5 WHERE cluster = $1 AND key = $2 AND to_time IS NULL
			AND uid = $3 AND resource_version = $4 AND object <> $5`),
		// A Put with another UID ends the state of an object whose deletion nobody saw. Some
		// servers set no UID: "" is no other one.
		end: sql(`UPDATE $H SET to_time = $3,
			to_version = CASE WHEN $4::text = 'put' AND uid <> $5 AND uid <> '' AND $5 <> '' THEN NULL ELSE $7::text END,
			ended = CASE WHEN $4::text = 'put' AND uid <> $5 AND uid <> '' AND $5 <> '' THEN 'inferred' ELSE $4::text END
			WHERE cluster = $1 AND key = $2 AND to_time IS NULL AND ($4::text <> 'put' OR uid <> $5 OR resource_version <> $6)`),
		record: sql(`INSERT INTO $H (cluster, key, uid, resource_version, object, from_time) SELECT $1, $2, $3, $4, $5::jsonb, $6
			WHERE NOT EXISTS (SELECT FROM $H WHERE cluster = $1 AND key = $2 AND to_time IS NULL)`),
		endUnrecorded: sql(`UPDATE $H h SET to_time = $2, ended = 'unrecorded' WHERE h.cluster = $1 AND h.to_time IS NULL
			AND NOT EXISTS (SELECT FROM $T o WHERE o.cluster = $1 AND o.key = h.key AND o.uid = h.uid AND o.resource_version = h.resource_version)`),
		recordRows: sql(`INSERT INTO $H (cluster, key, uid, resource_version, object, from_time)
			SELECT $1, o.key, o.uid, o.resource_version, o.object, $2 FROM $T o
			WHERE o.cluster = $1 AND NOT EXISTS (SELECT FROM $H h WHERE h.cluster = $1 AND h.key = o.key AND h.to_time IS NULL)`),

		addGap:  sql(`INSERT INTO $G (table_name, cluster, kind, from_version, from_time, to_version, to_time) VALUES ($1, $2, $3, $4, $5, $6, $7)`),
		endGaps: sql(endGaps),
		// The very first list has not been written down when it began.
		endList: sql(`WITH ended AS (` + endGaps + ` RETURNING kind)
			INSERT INTO $G (table_name, cluster, kind, from_version, to_version, to_time)
			SELECT $1, $2, 'list', '', $3, $4 WHERE NOT EXISTS (SELECT FROM ended)`),
		beginOff: sql(`INSERT INTO $G (table_name, cluster, kind, from_version, from_time) SELECT $1, $2, 'off', $3, $4
			WHERE NOT EXISTS (SELECT FROM $G WHERE table_name = $1 AND cluster = $2 AND kind = 'off' AND to_time IS NULL)`),
		clampFormer:    sql(`UPDATE $H SET from_time = least(from_time, $2), to_time = $2 WHERE cluster = $1 AND to_time > $2`),
		clampPresent:   sql(`UPDATE $H SET from_time = $2 WHERE cluster = $1 AND to_time IS NULL AND from_time > $2`),
		clampEndedGaps: sql(`UPDATE $G SET from_time = CASE WHEN from_time > $2 THEN $2 ELSE from_time END, to_time = $2 WHERE cluster = $1 AND to_time > $2 AND table_name = $3`),
		clampGaps:      sql(`UPDATE $G SET from_time = $2 WHERE cluster = $1 AND to_time IS NULL AND from_time > $2 AND table_name = $3`),
		prune:          sql(`DELETE FROM $H WHERE ctid = ANY(ARRAY(SELECT ctid FROM $H WHERE cluster = $1 AND to_time < $2 ORDER BY to_time LIMIT $3))`),
		pruneGaps:      sql(`DELETE FROM $G WHERE table_name = $1 AND cluster = $2 AND to_time < $3`),
	}
}
