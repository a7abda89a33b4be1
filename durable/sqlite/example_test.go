package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime/schema"
	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/reflector"
)

// Two clusters in one file, and the Deployments whose images differ.
func Example() {
	if err := printDrift(); err != nil {
		fmt.Println(err)
	}
	// Output: shop/web web:2 web:1
}

func printDrift() error {
	dir, err := os.MkdirTemp("", "copies")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "clusters.db")
	db, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer db.Close()

	for cluster, images := range map[string]map[string]string{
		"east": {"shop/web": "web:2", "shop/cart": "cart:7"},
		"west": {"shop/web": "web:1", "shop/cart": "cart:7"},
	} {
		deployments, err := sqlite.New(db, durable.Table{
			Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
			Cluster:  cluster,
			Columns:  []string{"image=.spec.template.spec.containers[0].image"},
		}, func(object string) ([]byte, error) { return []byte(object), nil })
		if err != nil {
			return err
		}
		if err := mirror(deployments, images); err != nil {
			return err
		}
	}

	reader, err := sqlite.OpenReader(path)
	if err != nil {
		return err
	}
	defer reader.Close()
	return sqlitex.Execute(reader.Conn, `
		SELECT key, a.image, b.image FROM deployments_apps a JOIN deployments_apps b USING (key)
		WHERE a.cluster = 'east' AND b.cluster = 'west' AND a.image <> b.image`,
		&sqlitex.ExecOptions{ResultFunc: func(row *driver.Stmt) error {
			fmt.Println(row.ColumnText(0), row.ColumnText(1), row.ColumnText(2))
			return nil
		}})
}

// mirror does what a Mirror does with a list.
func mirror(to durable.Copy[string], images map[string]string) error {
	ctx := context.Background()
	at, err := to.Load(ctx)
	if err != nil {
		return err
	}
	tx, err := to.Begin(ctx, at, true)
	if err != nil {
		return err
	}
	for key, image := range images {
		put := durable.Change[string]{Meta: meta(key, "u-"+key, "5"), Op: durable.Put}
		put.Object = fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"image":%q}]}}}}`, image)
		if err := tx.Write(ctx, []durable.Change[string]{put}); err != nil {
			return err
		}
	}
	return tx.Commit(ctx, durable.State{Epoch: at.Epoch + 1, Point: reflector.Point{Version: "9"}})
}
