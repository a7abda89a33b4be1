package connect

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/relist-go/relist/transport"
)

// As says as whom requests are made. The zero value means as oneself, or as whom the
// kubeconfig says.
type As struct {
	User   string
	Groups []string
}

func (a *As) add(set *pflag.FlagSet) {
	set.StringVar(&a.User, "as", "", "`user` as whom to ask, if you may impersonate")
	set.StringArrayVar(&a.Groups, "as-group", nil, "`group` that the user of --as is in; can be given more than once")
}

func (a *As) check() error {
	if a.User == "" && len(a.Groups) > 0 {
		return errors.New("--as-group says more about a user: name him with --as")
	}
	return nil
}

// apply replaces what the kubeconfig says.
func (a *As) apply(to *transport.Impersonation) {
	if a.User != "" {
		*to = transport.Impersonation{User: a.User, Groups: a.Groups}
	}
}
