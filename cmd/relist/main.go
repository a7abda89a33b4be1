// Command relist keeps a copy of a resource of a Kubernetes API server, and shows what
// it does to keep the copy right.
//
//	relist demo                     mirror a server that misbehaves, and print what happens
//	relist mirror pods -A           mirror a real one
//	relist serve --objects 1000     run the misbehaving server alone
//
// Under the name kubectl-relist it is a plugin: kubectl relist mirror pods -A.
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
	os.Exit(runAs(ctx, os.Args[0], os.Args[1:], os.Stdout, os.Stderr))
}
