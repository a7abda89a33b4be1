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
		if c.Copied {
			return errors.New("this program has no database")
		}
		e.client, err = connect(e.access, c)
		return err
	})
}

// MainOfCopier is a Main for the cases with a database.
func MainOfCopier(program string, connect func(Access, Case) (Copier, error)) {
	runMain(program, func(e *env, c Case) (err error) {
		if !c.Copied {
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
	flag.IntVar(&o.objects, "objects", 0, "`number` of objects that it serves, or of informers")
	flag.IntVar(&o.events, "events", 0, "`number` of changes")
	flag.BoolVar(&o.shareParts, "share-parts", false, "let objects share parts, where the program can")
	flag.BoolVar(&o.gzip, "gzip", false, "ask for compressed lists")
	flag.StringVar(&o.database, "database", "", "`path` of the database")
	flag.StringVar(&o.profile, "profile", "", "`file` for profiles of the run: of the CPU with .cpu at its end, of allocations with .mem")
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
	name, url, profile string
	objects, events    int
	gzip, shareParts   bool
	database           string
}

func (o options) run(ctx context.Context, program string, connect func(*env, Case) error) error {
	all := All()
	i := slices.IndexFunc(all, func(c Case) bool { return c.Name == o.name })
	if i < 0 {
		return fmt.Errorf("there is no such case")
	}
	c := all[i]
	c.Spec.ShareParts = o.shareParts
	result := &measure.Result{Program: program, Case: c.Name}
	e := &env{spec: c.Spec, objects: o.objects, events: o.events, result: result, access: Access{
		URL: o.url, HTTP2: strings.HasPrefix(o.url, "https:"), Gzip: o.gzip, Database: o.database,
	}}
	if err := connect(e, c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	run := func() error { return c.run(ctx, e) }
	var err error
	if o.profile == "" {
		err = run()
	} else {
		err = profiled(o.profile, run)
	}
	if err != nil {
		return err
	}
	return result.Write(os.Stdout)
}

func profiled(file string, run func() error) error {
	cpu, err := os.Create(file + ".cpu")
	if err != nil {
		return err
	}
	memory, err := os.Create(file + ".mem")
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	err = run()
	pprof.StopCPUProfile()
	return errors.Join(err, pprof.Lookup("allocs").WriteTo(memory, 0), cpu.Close(), memory.Close())
}
