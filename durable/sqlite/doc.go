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
// There is a table for each resource, pods or deployments_apps, with a row for each object.
// durable/README.md has the columns of all tables, what a reader may rely on, and queries. All
// clusters are in the same table, and have their name in the column cluster, because most questions
// are about several: which Deployments differ between two clusters is a join of the table with
// itself.
//
// The columns of [durable.Table].Columns have an index each. A column is computed from the object
// by SQLite itself. So it agrees with the object always, and a new column needs no list.
//
//	SELECT cluster, key FROM pods WHERE node = 'n1' AND image LIKE 'web:%';
//
// With [durable.Table].History, former states are in a second table, pods_history, and what the
// history cannot know is in relist_gaps.
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
