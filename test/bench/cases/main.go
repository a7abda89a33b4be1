package cases

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/relist-go/relist/test/bench/measure"
)

// patience is how long a run may take.
const patience = 3 * time.Minute

// Main runs the case that the command line names, with the program's client, and prints
// the result as one line of JSON.
func Main(program string, connect func(Access, Case) (Client, error)) {
	runMain(program, func(e *env, c Case) (err error) {
		if c.Database != NoDatabase {
			return errors.New("this program has no database")
		}
		e.client, err = connect(e.access, c)
		return err
	})
}

// MainOfCopier is a Main for the cases with a database.
func MainOfCopier(program string, connect func(Access, Case) (Copier, error)) {
	runMain(program, func(e *env, c Case) (err error) {
		if c.Database == NoDatabase {
			return errors.New("this program is for the cases with a database")
		}
		e.ledger = new(Ledger)
		e.copier, err = connect(e.access, c)
		return err
	})
}

func runMain(program string, connect func(*env, Case) error) {
	var o options
	flag.StringVar(&o.name, "case", "list-json", "`name` of the case")
	flag.StringVar(&o.url, "server", "", "`URL` of the load server")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` that says how to reach a real API server, instead of -server")
	flag.IntVar(&o.objects, "objects", 0, "`number` of objects that it serves, or of informers; the default is the case's")
	flag.IntVar(&o.events, "events", 0, "`number` of changes; the default is the case's")
	flag.BoolVar(&o.webSocket, "websocket", false, "watch over a WebSocket, where the program can")
	flag.BoolVar(&o.shareParts, "share-parts", false, "let objects share parts, where the program can")
	flag.BoolVar(&o.gzip, "gzip", false, "ask for compressed lists")
	flag.StringVar(&o.database, "database", "", "`path or URL` of the database")
	flag.IntVar(&o.databasePID, "database-pid", 0, "`number` of the process whose children are the server of the database")
	flag.StringVar(&o.cpuProfile, "cpuprofile", "", "`file` for a CPU profile of the run")
	flag.StringVar(&o.memProfile, "memprofile", "", "`file` for a profile of allocations and of the live heap at the end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := o.run(ctx, program, connect)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s: %v\n", program, o.name, err)
		os.Exit(1)
	}
}

type options struct {
	name, url, kubeconfig  string
	objects, events        int
	webSocket, gzip        bool
	shareParts             bool
	cpuProfile, memProfile string
	database               string
	databasePID            int
}

func (o options) run(ctx context.Context, program string, connect func(*env, Case) error) error {
	all := All()
	i := slices.IndexFunc(all, func(c Case) bool { return c.Name == o.name })
	if i < 0 {
		return fmt.Errorf("there is no such case")
	}
	c := all[i]
	c.Spec.ShareParts = o.shareParts
	if o.objects == 0 {
		o.objects = c.Objects
	}
	if o.events == 0 {
		o.events = c.Events
	}
	result := &measure.Result{Program: program, Case: c.Name}
	e := &env{spec: c.Spec, objects: o.objects, events: o.events, result: result, access: Access{
		URL: o.url, Kubeconfig: o.kubeconfig, HTTP2: strings.HasPrefix(o.url, "https:"), WebSocket: o.webSocket, Gzip: o.gzip,
		Database: o.database, DatabasePID: o.databasePID,
	}}
	if err := connect(e, c); err != nil {
		return err
	}
	stopProfile, err := o.profile()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = c.run(ctx, e)
	if profileErr := stopProfile(); err == nil {
		err = profileErr
	}
	if err != nil {
		return err
	}
	return result.Write(os.Stdout)
}

// profile begins what the flags ask for, and returns how it ends.
func (o options) profile() (stop func() error, err error) {
	var cpu *os.File
	if o.cpuProfile != "" {
		if cpu, err = os.Create(o.cpuProfile); err != nil {
			return nil, err
		}
		if err := pprof.StartCPUProfile(cpu); err != nil {
			return nil, err
		}
	}
	return func() error {
		if cpu != nil {
			pprof.StopCPUProfile()
			if err := cpu.Close(); err != nil {
				return err
			}
		}
		if o.memProfile == "" {
			return nil
		}
		memory, err := os.Create(o.memProfile)
		if err != nil {
			return err
		}
		err = pprof.Lookup("allocs").WriteTo(memory, 0)
		return errors.Join(err, memory.Close())
	}, nil
}
