// Command relist-sql keeps Kubernetes resources in a database, in SQLite or PostgreSQL, and reads
// them with SQL.
//
//	relist-sql mirror pods -A --to sqlite:cluster.db
//	relist-sql query cluster.db 'SELECT namespace, count(*) FROM pods GROUP BY 1'
//	relist-sql status cluster.db
//
// It is a module of its own, so that who uses the library or the command relist does not get two
// databases with it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once, even if the output is stuck.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
