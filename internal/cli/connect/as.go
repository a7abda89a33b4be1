package connect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/relist-go/relist/transport"
)

// As says as whom requests are made. The zero value means as oneself, or as whom the
// kubeconfig says.
type As struct {
	User   string
	UID    string
	Groups []string
	Extra  []string // KEY=VALUE
}

func (a *As) add(set *pflag.FlagSet) {
	set.StringVar(&a.User, "as", "", "`user` as whom to ask, if you may impersonate")
	set.StringVar(&a.UID, "as-uid", "", "`UID` of that user")
	set.StringArrayVar(&a.Groups, "as-group", nil, "`group` that the user of --as is in; can be given more than once")
	set.StringArrayVar(&a.Extra, "as-user-extra", nil, "further attribute of the user of --as, as `KEY=VALUE`; can be given more than once")
}

func (a *As) check() error {
	if a.User == "" && (a.UID != "" || len(a.Groups) > 0 || len(a.Extra) > 0) {
		return errors.New("--as-uid, --as-group and --as-user-extra say more about a user: name him with --as")
	}
	_, err := a.extra()
	return err
}

// apply replaces what the kubeconfig says.
func (a *As) apply(to *transport.Impersonation) error {
	if a.User == "" {
		return nil
	}
	extra, err := a.extra()
	*to = transport.Impersonation{User: a.User, UID: a.UID, Groups: a.Groups, Extra: extra}
	return err
}

func (a *As) extra() (map[string][]string, error) {
	var extra map[string][]string
	for _, text := range a.Extra {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--as-user-extra %s: want KEY=VALUE", text)
		}
		if extra == nil {
			extra = make(map[string][]string)
		}
		extra[key] = append(extra[key], value)
	}
	return extra, nil
}
