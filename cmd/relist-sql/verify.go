package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/connect"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist-sql/internal/database"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// verifyFlags are the flags of `relist-sql verify`.
type verifyFlags struct {
	readFlags
	server  cli.Selection
	cluster string
}

func newVerify() *cobra.Command {
	f := &verifyFlags{server: cli.Selection{Program: "relist-sql"}}
	cmd := &cobra.Command{
		Use:   "verify DATABASE",
		Short: "Compare the copies in a database with the server",
		Long: `Compare each copy in a database of relist-sql mirror with its API server, by a
list of metadata at the version of the copy, and say which objects differ: by
key, UID and resourceVersion. Keys among the unsure keys are not compared; and a copy
with more unsure keys than about 1,000 is not compared, because the keys of the others
are not known. A file of SQLite is checked for damage first. DATABASE is a file of
SQLite, or postgres://USER@HOST/DATABASE. The database is only read, and may be
written to meanwhile. Copies of other clusters are left out.

The server must still have the version, which is so for some minutes: if nobody
has written the copy for longer, start relist-sql mirror first.

Exit status: 0 if every copy is what the server had, 4 if objects differ, 1 if
a copy cannot be compared.`,
		Example: `  relist-sql verify cluster.db
  relist-sql verify postgres://reader@db.internal/fleet --context east`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage("name one database, such as cluster.db")
			}
			return nil
		},
		ValidArgsFunction: completeFile,
		PreRunE: func(_ *cobra.Command, args []string) error {
			if err := f.server.Check(); err != nil {
				return err
			}
			return f.check(args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.read(cmd.Context(), func(r database.Reader) error { return f.run(cmd, r) })
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.cluster, "cluster", "", "`name` that identifies the cluster (default: the UID of its namespace kube-system)")
	f.server.Connect.Add(cmd.Flags())
	return cmd
}

// run compares all copies of the server's cluster.
func (f *verifyFlags) run(cmd *cobra.Command, r database.Reader) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	if err := r.Check(ctx); err != nil {
		return fmt.Errorf("%s: %w", f.place, err)
	}
	streams, err := r.Streams(ctx)
	if err != nil {
		return err
	}
	cfg, client, err := f.server.Client(ctx, cmd.ErrOrStderr(), nil)
	if err != nil {
		return err
	}
	defer client.Close()
	cluster, err := clusterID(ctx, f.cluster, client, cfg)
	if err != nil {
		return err
	}
	compared, different := 0, 0
	var failed []error
	for _, s := range streams {
		if s.State.Stream.Cluster != cluster {
			continue
		}
		compared++
		n, err := verify(ctx, out, r, s, client)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", nameOf(s), connect.Explain(err, cfg.Server, cli.StartTimeout)))
		}
		different += n
	}
	switch {
	case compared == 0:
		return fmt.Errorf("%s has no copy of the cluster %s, which answers at %s", f.place, report.Word(cluster), cfg.Server)
	case len(failed) > 0:
		return errors.Join(failed...)
	case different > 0:
		return &cli.StatusError{Status: exitDiffers, Err: fmt.Errorf("%s the server's; relist-sql mirror repairs them, see its --verify", verb(different, "object differs from", "objects differ from"))}
	}
	return nil
}

func nameOf(s database.Stream) string {
	if s.Label != "" {
		return s.Table + " of " + report.Word(s.Label)
	}
	return s.Table
}

func verb(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// errNoVersion is the error for a copy that equals the server at no version.
var errNoVersion = errors.New("it has no version, because a list is not whole: wait for relist-sql mirror")

// shownDifferences is how many differences of a copy are printed.
const shownDifferences = 100

// verify compares a copy with what the server had at its version, prints what differs, and returns
// the number of differences.
func verify(ctx context.Context, out io.Writer, r database.Reader, s database.Stream, client *transport.Client) (int, error) {
	state, rows, err := r.Identities(ctx, s)
	if err != nil {
		return 0, err
	}
	point, of := state.Point, state.Stream
	switch {
	case point.Version == "":
		return 0, errNoVersion
	case point.MoreUnsure > 0:
		return 0, fmt.Errorf("it has unsure keys without a known key (%d), which would look like objects that differ", point.MoreUnsure)
	}
	resource, err := listwatch.New(client, schema.GroupVersionResource{Group: of.Group, Version: of.Version, Resource: of.Resource}, listwatch.Options[*metav1.PartialObjectMetadata]{
		Namespace: of.Namespace, LabelSelector: of.LabelSelector, FieldSelector: of.FieldSelector, ShardSelector: of.ShardSelector,
		Transform: func(m *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error) { // the rest takes 4 KB a Pod
			return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}}, nil
		},
	})
	if err != nil {
		return 0, err
	}
	list, err := source.All(ctx, resource, metav1.ListOptions{ResourceVersion: point.Version, ResourceVersionMatch: metav1.ResourceVersionMatchExact, Limit: 500})
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		return 0, fmt.Errorf("the server no longer has version %s: start relist-sql mirror, and verify when it has caught up", report.Word(point.Version))
	case tooLarge(err):
		return 0, fmt.Errorf("the server has not come to version %s: its storage was restored from a backup, or another server answers; "+
			"start relist-sql mirror, which copies what the server has now, and verify when it has caught up", report.Word(point.Version))
	case err != nil:
		return 0, err
	case list.ResourceVersion != point.Version:
		return 0, fmt.Errorf("the server was asked for version %s, and answers with %s: it cannot be compared", report.Word(point.Version), report.Word(list.ResourceVersion))
	}
	found := differences(rows, list, point.Unsure)
	if len(found) == 0 {
		_, err = fmt.Fprintf(out, "%s: %s at %s, as on the server%s\n", nameOf(s), count(len(rows), "row"), report.Word(point.Version), notCompared(point.Unsure))
		return 0, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: at %s, %s%s\n", nameOf(s), report.Word(point.Version), verb(len(found), "object differs from the server's", "objects differ from the server's"), notCompared(point.Unsure))
	for i, line := range found {
		if i == shownDifferences {
			fmt.Fprintf(&b, "  and %d more\n", len(found)-i)
			break
		}
		fmt.Fprintf(&b, "  %s\n", line)
	}
	_, err = io.WriteString(out, b.String())
	return len(found), err
}

// tooLarge reports whether a server says that its versions have not come to the one that was asked
// for.
func tooLarge(err error) bool {
	return apierrors.IsTimeout(err) && apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

func notCompared(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s not compared)", count(len(keys), "unsure key"))
}

// differences says which keys differ, and how, in the order of keys.
func differences(rows map[string]object.Meta, list *source.List[*metav1.PartialObjectMetadata], unsure []string) (found []string) {
	skip, nameless := map[string]bool{}, false
	for _, key := range unsure {
		skip[key] = true
	}
	for _, bad := range list.Errors {
		skip[bad.Meta.Key] = true
		nameless = nameless || bad.Meta.Key == "" // it may be any row that seems to be missing
	}
	differs := func(key, format string, args ...any) {
		if !skip[key] {
			found = append(found, report.Word(key)+fmt.Sprintf(format, args...))
		}
	}
	listed := map[string]bool{}
	for i := range list.Items {
		meta, _ := list.Meta(i)
		listed[meta.Key] = true
		row, ok := rows[meta.Key]
		switch {
		case !ok:
			differs(meta.Key, " is at %s, and has no row", report.Word(meta.ResourceVersion))
		case object.DifferentUID(row.UID, meta.UID):
			differs(meta.Key, " has the UID %s, and its row %s", report.Word(string(meta.UID)), report.Word(string(row.UID)))
		case row.ResourceVersion != meta.ResourceVersion:
			differs(meta.Key, " is at %s, and its row at %s", report.Word(meta.ResourceVersion), report.Word(row.ResourceVersion))
		}
	}
	for key := range rows {
		if !listed[key] && !nameless {
			differs(key, " is not there, and has a row")
		}
	}
	slices.Sort(found)
	return found
}
