package main

import (
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// A list and two events of a server, and an orderly end.
func TestPrint(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	must := program.Must(t)
	must(server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "shop", "name": "a"}}))
	p := program.New(t, "", url+"/api/v1/configmaps")
	p.Begin(p.StdoutPipe)
	p.Want("Replaced shop/a 2")
	must(server.Patch("configmaps", "shop", "a", map[string]any{"data": map[string]any{"k": "v"}}))
	p.Want("Updated shop/a 3")
	must(server.Delete("configmaps", "shop", "a"))
	p.Want("Deleted shop/a 4")
	p.Interrupt()
	program.New(t, "").Fails("usage: print URL")
}
