package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/bench/measure"
	"github.com/relist-go/relist/test/bench/objects"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// errNoAPIServer says that the cases with a real API server are left out.
var errNoAPIServer = errors.New("no kube-apiserver and etcd in test/conformance/bin (make conformance-bin builds them)")

// copyAPIServer compares first copies from a kube-apiserver: relist from JSON, relist with typed Pods from protobuf, and client-go.
func copyAPIServer(ctx context.Context, r *runner) (_ string, err error) {
	for _, program := range []string{"etcd", "kube-apiserver"} {
		if _, err := cluster.FindProgram(program); err != nil {
			return "", errNoAPIServer
		}
	}
	byName := map[string]cases.Case{}
	for _, c := range cases.All() {
		byName[c.Name] = c
	}
	a := r.amount(byName["copy-apiserver-sqlite"])
	server, err := cluster.Start(ctx, cluster.Options{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if err := r.fill(ctx, server, a.objects); err != nil {
		return "", fmt.Errorf("fill the API server: %w", err)
	}
	var text, medians strings.Builder
	text.WriteString("| | | relist, JSON | relist, protobuf | client-go, protobuf | ratio, JSON | ratio, protobuf |\n" +
		"| --- | --- | ---: | ---: | ---: | --- | --- |\n")
	for _, name := range []string{"copy-apiserver-sqlite", "copy-apiserver-postgres"} {
		c := byName[name]
		var all [3][]measure.Result
		runs, err := r.repeat(budget, func(run string) error {
			for i, one := range []struct {
				c       cases.Case
				program string
			}{{c, copiers[0]}, {byName[name+"-typed"], copiers[0]}, {c, copiers[1]}} {
				progress(one.c, run, one.program)
				result, err := r.start(ctx, one.c, one.program, a, "-kubeconfig="+server.Kubeconfig())
				if err != nil {
					return err
				}
				all[i] = append(all[i], result)
			}
			return nil
		})
		if err != nil {
			return "", err
		}
		text.WriteString(apiServerRows(c.Title, all))
		fmt.Fprintf(&medians, " %s: median of %d.", c.Title, runs)
	}
	return fmt.Sprintf("%s\n%s Pods.%s\n", text.String(), number(float64(a.objects)), medians.String()), nil
}

// apiServerRows returns the rows of a database.
func apiServerRows(title string, all [3][]measure.Result) string {
	var text strings.Builder
	for _, m := range all[0][0].Metrics {
		json, typed, clientGo := values(all[0], m.Name), values(all[1], m.Name), values(all[2], m.Name)
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s | %s | %s |\n", title, m.Name,
			number(median(json)), number(median(typed)), number(median(clientGo)), ratio(json, clientGo), ratio(typed, clientGo))
		title = ""
	}
	return text.String()
}

// writers is how many connections write to etcd at once.
const writers = 2

// fill writes Pods into the server's etcd, as the load server would serve them.
func (r *runner) fill(ctx context.Context, server *cluster.Cluster, n int) error {
	set, err := objects.Pods(r.data, n, false)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	indexes := make(chan int)
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for i := range indexes {
				if err := putPod(ctx, server, set, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		indexes <- i
	}
	close(indexes)
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return awaitPods(ctx, server, n)
}

func putPod(ctx context.Context, server *cluster.Cluster, set *objects.Set, i int) error {
	message := set.Template(objects.Protobuf, objects.Full, objects.Item, i).Append(nil, objects.Values{Index: i})
	var pod corev1.Pod
	if err := pod.Unmarshal(message); err != nil {
		return err
	}
	pod.ResourceVersion = "" // a stored object has none: it is etcd's revision
	message, err := pod.Marshal()
	if err != nil {
		return err
	}
	_, err = server.PutStored(ctx, set.Resource, pod.Namespace, pod.Name, objects.Envelope(set.TypeMeta(objects.Full), message))
	return err
}

// awaitPods asks the server how many Pods it has, which answers when it has all that is in etcd.
func awaitPods(ctx context.Context, server *cluster.Cluster, want int) error {
	access := server.Access()
	client, err := access.HTTPClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, access.URL+"/api/v1/pods?limit=1", http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+access.AdminToken)
	response, err := client.Do(req)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var list corev1.PodList
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return err
	}
	has := len(list.Items)
	if list.RemainingItemCount != nil {
		has += int(*list.RemainingItemCount)
	}
	if has != want {
		return fmt.Errorf("%s: %d Pods, want %d", response.Status, has, want)
	}
	return nil
}
