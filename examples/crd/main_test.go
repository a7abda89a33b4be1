package main

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/examples/internal/program"
	"github.com/relist-go/relist/transport"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	m.Run()
}

var crd = apitest.Resource{Group: "shop.example.com", Version: "v1", Plural: "backups", Kind: "Backup", Custom: true}

// A day in the life of three backups.
func TestLateBackups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{Resources: []apitest.Resource{crd}})
		must := program.Must(t)
		backup := func(name, every string) map[string]any {
			return map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name}, "spec": map[string]any{"every": every}}
		}
		must(server.Create("backups.shop.example.com", backup("hourly", "1h")))
		must(server.Create("backups.shop.example.com", backup("gone", "2h")))
		must(server.Create("backups.shop.example.com", backup("weekly", "168h")))

		end := program.InMemory(t, listener, run)
		<-time.After(time.Hour + 90*time.Second)
		must(server.Delete("backups.shop.example.com", "shop", "gone"))
		must(server.Patch("backups.shop.example.com", "shop", "hourly", map[string]any{"status": map[string]any{"lastSuccess": "2000-01-01T12:00:00Z"}}))
		<-time.After(23 * time.Hour)
		end("shop/hourly is late: due at 01:00:00\nshop/hourly is made up for\nshop/hourly is late: due at 13:00:00\n")
	})
}

// Without the CRD, the program ends and says so.
func TestNoCRD(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, listener := apitest.StartInMemory(t, apitest.Options{})
		err := run(t.Context(), transport.Config{Server: listener.URL, Dial: listener.Dial}, &bytes.Buffer{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("error %v, want a 404", err)
		}
	})
}
