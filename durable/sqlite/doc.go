// Package sqlite keeps copies of Kubernetes resources in a file of SQLite, which any program can
// query while they are kept.
//
//	db, err := sqlite.Open("cluster.db", sqlite.Options{})
//	pods, err := sqlite.New(db, durable.Table{
//		Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
//		Cluster:  "east",
//		Columns:  []string{"node=.spec.nodeName", "image=.spec.containers[0].image"},
//	}, encode)
//
// A [Copy] is a [durable.Copy]: a [durable.Mirror] writes to it. Rows and the version that they are
// at change in one transaction, so a program that is killed continues where it was.
//
// # Tables
//
// There is a table for each resource, pods or deployments_apps, with a row for each object. All
// clusters are in the same table, and have their name in the column cluster, because most questions
// are about several: which Deployments differ between two clusters is a join of the table with
// itself.
//
//	cluster, key      the primary key; key is namespace/name, or name
//	namespace, name
//	uid, resource_version
//	labels            JSON
//	created           as the server wrote it
//	object            JSON, as text, so that every tool can read it
//
// and the columns of [durable.Table].Columns, each with an index. A column is computed from the
// object by SQLite itself. So it agrees with the object always, and a new column needs no list.
//
//	SELECT cluster, key FROM pods WHERE node = 'n1' AND image LIKE 'web:%';
//
//	SELECT key, a.image, b.image FROM deployments_apps a JOIN deployments_apps b USING (key)
//	WHERE a.cluster = 'east' AND b.cluster = 'west' AND a.image <> b.image;
//
// The table relist_state has a row for each copy: the rows equal the server at version, which was
// written at current_at, but for the keys in state -> '$.point.unsure'. If version is empty, a list
// that takes several transactions is not whole, or nobody knows whether the server is the same.
//
// # History
//
// With [durable.Table].History, former states are in a second table, pods_history: from_time and
// to_time are when the begin and the end of a state were seen, and resource_version and to_version
// are the versions at which the state began and ended. States of a key do not overlap. The present
// state has no to_time.
//
//	SELECT key, image FROM pods_history
//	WHERE node = 'n1' AND from_time <= '2026-11-22T14:05:00.000Z' AND (to_time IS NULL OR to_time > '2026-11-22T14:05:00.000Z');
//
// Column ended says how a state ended: put (a newer one came), deleted, inferred (it is gone, and
// nobody saw when), unselected, or unrecorded. What the history cannot know is in relist_gaps:
// from_time and to_time are when, and kind is why. Kind "list": states may be missing, because
// changes came as a list. Kind "pause": no state is missing, but nobody watched, and what changed
// meanwhile has the time at which the program came back. Kind "off": the copy was written without a
// history.
//
// # Readers
//
// A reader opens the file read-only, with [OpenReader], with the program sqlite3 or with anything
// else that knows SQLite 3.38 or newer. Readers and the writer do not wait for each other, because
// the file has a write-ahead log beside it: file-wal and file-shm. The newest commits are in the
// log, so make a backup with VACUUM INTO, and not with cp. The folder must be on a local disk. A
// reader that may not write to the folder sees what there is, and not what a program writes later
// if none had the copies open when the reader began: see [Reader.Close]. A transaction of a reader
// keeps the log from becoming empty, so it should be short: when the log has 64 MB, a commit waits
// up to a second for readers.
//
// Commits are not forced to the disk one by one (synchronous=NORMAL): if the machine fails, the
// last ones may be lost, rows and state together, and the mirror reads the same changes from the
// server again.
package sqlite
