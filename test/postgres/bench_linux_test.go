package check

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// pod is an object of about 8 KB, as a Pod with its managedFields is. No two have the same text.
func pod(n, version int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-%d","namespace":"shop","uid":"%08x-5717-4562-b3fc-2c963f66afa6","resourceVersion":"%d",`+
		`"creationTimestamp":"2024-02-29T23:59:59Z","labels":{"app":"web","pod-template-hash":"%x"},"managedFields":[`, n, n, version, n*7919)
	for i := 0; b.Len() < 4000; i++ {
		fmt.Fprintf(&b, `{"manager":"m%d","operation":"Update","time":"2024-02-29T23:59:59Z","fieldsV1":{"f:status":{"f:c%x":{".":{},"f:type":{}}}}},`, i, (n+version)*i)
	}
	b.WriteString(`{}]},"spec":{"nodeName":"n1","containers":[`)
	for i := 0; b.Len() < 8000; i++ {
		fmt.Fprintf(&b, `{"name":"c%d","image":"registry.example/%x:v%d","resources":{"limits":{"memory":"%dMi"}},"env":[{"name":"A","value":"%x"}]},`, i, n*i, version, i, n*version*i)
	}
	b.WriteString(`{}]},"status":{"phase":"Running"}}`)
	return []byte(b.String())
}

func ticks(b *testing.B, pid int) time.Duration {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+2:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	return time.Duration(user+system) * (time.Second / 100)
}

func own(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// measure runs f, which writes rows, and reports what it costs the client and the server for a row. The server's process that
// answers is not the one that writes to the disk.
func measure(b *testing.B, pid, rows int, f func(n int)) {
	client, server := own(b), ticks(b, pid)
	n := 0
	for b.Loop() {
		n++
		f(n)
	}
	perRow := float64(b.N*rows) * float64(time.Microsecond)
	b.ReportMetric(float64(own(b)-client)/perRow, "client-µs/row")
	b.ReportMetric(float64(ticks(b, pid)-server)/perRow, "server-µs/row")
	b.ReportMetric(float64(b.Elapsed())/perRow, "µs/row")
}

// BenchmarkWays compares ways to change rows that are there already: arrays as the Copy sends them, COPY into a temporary table, and
// a prepared statement for each row in one pipeline.
func BenchmarkWays(b *testing.B) {
	const (
		upsert = ` ON CONFLICT (key) DO UPDATE SET uid = excluded.uid, object = excluded.object`
		join   = ` u LEFT JOIN LATERAL (SELECT * FROM ways w WHERE w.key = u.key LIMIT 1) o ON true WHERE o.key IS NULL OR o.uid <> u.uid OR o.object <> u.object`
	)
	do := func(ctx context.Context, tx pgx.Tx, sql string, args ...any) error {
		_, err := tx.Exec(ctx, sql, args...)
		return err
	}
	ways := map[string]func(ctx context.Context, tx pgx.Tx, keys, uids []string, objects [][]byte) error{
		"arrays": func(ctx context.Context, tx pgx.Tx, keys, uids []string, objects [][]byte) error {
			return do(ctx, tx, `INSERT INTO ways SELECT u.* FROM unnest($1::text[], $2::text[], $3::jsonb[]) AS u(key, uid, object)`+strings.TrimPrefix(join, " u")+upsert, keys, uids, objects)
		},
		"copy": func(ctx context.Context, tx pgx.Tx, keys, uids []string, objects [][]byte) error {
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"pg_temp", "staged"}, []string{"key", "uid", "object"},
				pgx.CopyFromSlice(len(keys), func(i int) ([]any, error) { return []any{keys[i], uids[i], objects[i]}, nil }))
			if err == nil {
				err = do(ctx, tx, `INSERT INTO ways SELECT u.* FROM pg_temp.staged`+join+upsert)
			}
			return err
		},
		"rows": func(ctx context.Context, tx pgx.Tx, keys, uids []string, objects [][]byte) error {
			batch := &pgx.Batch{}
			for i := range keys {
				batch.Queue(`INSERT INTO ways SELECT $1, $2, $3::jsonb WHERE NOT EXISTS (SELECT FROM ways WHERE key = $1 AND uid = $2 AND object = $3::jsonb)`+upsert, keys[i], uids[i], objects[i])
			}
			return tx.SendBatch(ctx, batch).Close()
		},
	}
	for _, rows := range []int{1, 8, 500} {
		for _, way := range []string{"arrays", "copy", "rows"} {
			b.Run(fmt.Sprintf("%s/%d", way, rows), func(b *testing.B) {
				conn := admin(b, shared)
				exec1(b, conn, `SET synchronous_commit = off`)
				exec1(b, conn, `SET enable_seqscan = off`)
				exec1(b, conn, `SET enable_hashjoin = off`)
				exec1(b, conn, `SET enable_mergejoin = off`)
				exec1(b, conn, `CREATE TABLE ways (key text COLLATE "C" PRIMARY KEY, uid text NOT NULL, object jsonb COMPRESSION lz4 NOT NULL)`)
				defer exec1(b, conn, `DROP TABLE ways`)
				exec1(b, conn, `CREATE TEMPORARY TABLE staged (key text, uid text, object jsonb COMPRESSION lz4) ON COMMIT DELETE ROWS`)
				exec1(b, conn, `ALTER TABLE staged ALTER object SET STORAGE EXTERNAL`)
				pid := int(conn.PgConn().PID())
				keys, uids := make([]string, rows), make([]string, rows)
				objects := make([][][]byte, 16)
				for v := range objects {
					for i := range rows {
						objects[v] = append(objects[v], pod(i, v))
						keys[i] = fmt.Sprintf("shop/web-%d", i)
					}
				}
				measure(b, pid, rows, func(n int) {
					for i := range uids {
						uids[i] = strconv.Itoa(n)
					}
					if err := pgx.BeginFunc(b.Context(), conn, func(tx pgx.Tx) error { return ways[way](b.Context(), tx, keys, uids, objects[n%16]) }); err != nil {
						b.Fatal(err)
					}
				})
			})
		}
	}
}
