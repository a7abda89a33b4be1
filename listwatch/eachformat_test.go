package listwatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
)

// In every format, and in pages or in one answer, the parts of a list are together what All brings.
func TestEachInEveryFormat(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	for i := range 600 {
		if _, err := server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "shop", "name": fmt.Sprintf("o%04d", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	client := newClient(t, url)
	for name, encoding := range map[string]listwatch.Encoding{"JSON": listwatch.JSON, "protobuf": listwatch.Protobuf} {
		r, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*listwatch.Raw]{Encoding: encoding})
		must.OK(t, err)
		all, err := source.All(t.Context(), r, metav1.ListOptions{})
		if err != nil || len(all.Items) != 600 {
			t.Fatal(len(all.Items), err)
		}
		for limit, sizes := range map[int64]string{0: "256 256 88", 250: "250 250 100", 300: "256 44 256 44", 600: "256 256 88"} {
			t.Run(fmt.Sprintf("%s, limit %d", name, limit), func(t *testing.T) {
				var (
					items []*listwatch.Raw
					metas []object.Meta
					parts []string
				)
				list, err := source.Each(t.Context(), r, metav1.ListOptions{Limit: limit}, func(p source.Part[*listwatch.Raw]) error {
					items, metas = append(items, p.Items...), append(metas, p.Metas...)
					parts = append(parts, fmt.Sprint(len(p.Items)))
					return nil
				})
				if err != nil || list.ResourceVersion != all.ResourceVersion {
					t.Fatalf("%+v, %v", list, err)
				}
				if got := strings.Join(parts, " "); got != sizes {
					t.Errorf("parts of %s, want %s", got, sizes)
				}
				if diff := cmp.Diff(all.Metas, metas); diff != "" {
					t.Errorf("the metadata differ (-All +Each):\n%s", diff)
				}
				if !slices.EqualFunc(all.Items, items, func(a, b *listwatch.Raw) bool { return string(a.Bytes()) == string(b.Bytes()) }) {
					t.Error("the items differ")
				}
			})
		}
	}
}
