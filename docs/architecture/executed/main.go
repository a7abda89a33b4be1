// Executed sends one event of a watch from the socket to a callback. It prints each file of the library that runs at least one
// statement on the way. It counts more than the call stacks of [TestRoadOfAnEvent] in the folder above, which miss a function that
// has returned.
//
//	go run -cover -covermode=atomic -coverpkg=./... ./docs/architecture/executed
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"runtime/coverage"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
)

type configMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data"`
}

func main() {
	folder, err := os.MkdirTemp("", "executed")
	if err == nil {
		err = run(context.Background(), folder)
	}
	if err = errors.Join(err, os.RemoveAll(folder)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder string) error {
	api := apitest.New(apitest.Options{})
	server := httptest.NewServer(http.HandlerFunc(api.ServeHTTP))
	if _, err := api.Create("configmaps", object("1")); err != nil {
		return err
	}
	client, err := transport.NewClient(transport.Config{Server: server.URL})
	if err != nil {
		return err
	}
	configMaps, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*configMap]{})
	if err != nil {
		return err
	}
	cache := informer.New(configMaps, informer.Options[*configMap]{Logger: slog.New(slog.DiscardHandler)})
	told := make(chan string)
	_, err = cache.AddHandler(informer.Handler[*configMap]{
		OnAdd:    func(c *configMap, _ bool) { told <- c.ResourceVersion },
		OnUpdate: func(_, c *configMap) { told <- c.ResourceVersion },
	})
	if err != nil {
		return err
	}
	live, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- cache.Run(live) }()
	<-told
	for i, price := range []string{"2", "3", "4"} {
		if i == 2 {
			if err := coverage.ClearCounters(); err != nil {
				return fmt.Errorf("%w: run this with the flags -cover -covermode=atomic and -coverpkg", err)
			}
		}
		if _, err := api.Update("configmaps", object(price)); err != nil {
			return err
		}
		if err := cache.WaitFor(live, <-told); err != nil {
			return err
		}
	}
	if err := errors.Join(coverage.WriteMetaDir(folder), coverage.WriteCountersDir(folder)); err != nil {
		return err
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		return err
	}
	server.Close()
	return report(ctx, folder)
}

func object(price string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": "tea"},
		"data":     map[string]any{"price": price},
	}
}

const module = "github.com/relist-go/relist/"

// report prints the files that ran at least one statement.
func report(ctx context.Context, folder string) error {
	text := path.Join(folder, "profile.txt")
	if out, err := exec.CommandContext(ctx, "go", "tool", "covdata", "textfmt", "-i="+folder, "-o="+text).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	profile, err := os.ReadFile(text) // this program has just written the file
	if err != nil {
		return err
	}
	files, packages := map[string]bool{}, map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(profile)); lines.Scan(); {
		file, _, _ := strings.Cut(lines.Text(), ":")
		file, ours := strings.CutPrefix(file, module)
		if !ours || strings.HasSuffix(lines.Text(), " 0") || strings.HasPrefix(file, "apitest/") || strings.HasPrefix(file, "docs/") {
			continue
		}
		files[file], packages[path.Dir(file)] = true, true
	}
	fmt.Printf("one event executes statements of %d files in %d packages\n", len(files), len(packages))
	for _, file := range slices.Sorted(maps.Keys(files)) {
		fmt.Println(file)
	}
	return nil
}
