package cli

import (
	"net"
	"time"

	"github.com/spf13/pflag"
)

// StatusFlags are the flags of a command that concern the page of its status.
type StatusFlags struct {
	Listen       string // the address; empty for no page
	Hosts        []string
	MaxStaleness time.Duration // 0 for no limit
}

// Add adds the flags. pages are those that the command serves; which is "the copy", or "a copy" if
// the command has several.
func (f *StatusFlags) Add(flags *pflag.FlagSet, pages, which string) {
	flags.StringVar(&f.Listen, "status-listen", "", "serve "+pages+" on this `address`, such as 127.0.0.1:8081")
	flags.StringSliceVar(&f.Hosts, "status-host", nil, "`name` that requests for the status may be for, besides addresses and localhost;\nmay be given several times")
	flags.DurationVar(&f.MaxStaleness, "max-staleness", 0, "let /healthz fail while "+which+" is staler than this; 3m or more if the server sends bookmarks,\none a minute, and 15m if it sends none (default: never)")
}

// Check returns an error of usage if the flags do not fit each other.
func (f *StatusFlags) Check() error {
	switch {
	case f.MaxStaleness < 0:
		return Usage("--max-staleness %s: want a positive time", f.MaxStaleness)
	case f.MaxStaleness > 0 && f.Listen == "":
		return Usage("--max-staleness is for /healthz: choose an address for it with --status-listen")
	case len(f.Hosts) > 0 && f.Listen == "":
		return Usage("--status-host is for the status: choose an address for it with --status-listen")
	case f.Listen == "":
		return nil
	}
	if _, _, err := net.SplitHostPort(f.Listen); err != nil {
		return Usage("--status-listen %q: want HOST:PORT, such as 127.0.0.1:8081", f.Listen)
	}
	return nil
}
