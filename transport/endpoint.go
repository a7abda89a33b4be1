package transport

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// endpoint is where requests go.
type endpoint struct {
	base   string // scheme, host and path prefix of requests, without a trailing slash
	name   string // the same, as it is called in errors
	scheme string // http or https
	socket string // the path of a unix socket; "" for a host
}

// parseServer checks Config.Server.
//
// No error quotes what may be a secret in the wrong place: a password, a token in the
// query, or the whole of something that is no URL.
func parseServer(server string) (endpoint, error) {
	if server == "" {
		return endpoint{}, errors.New("no Server is set: give the URL of the API server, such as https://127.0.0.1:6443")
	}
	u, err := url.Parse(server)
	switch {
	case err != nil && strings.Contains(server, "@"):
		return endpoint{}, errors.New("the Server is not a URL, and seems to carry credentials: use Username and Password")
	case err != nil:
		return endpoint{}, errors.New("the Server is not a URL: want one such as https://127.0.0.1:6443")
	case u.Scheme == "unix":
		return parseSocket(u)
	case u.Scheme != "http" && u.Scheme != "https":
		return endpoint{}, errors.New("the Server is not an http or https URL: want one such as https://127.0.0.1:6443")
	case u.Host == "":
		return endpoint{}, errors.New("the Server names no host: want a URL such as https://127.0.0.1:6443")
	case u.User != nil:
		return endpoint{}, errors.New("the Server carries credentials: use Username and Password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return endpoint{}, fmt.Errorf("the Server %s://%s has a query or a fragment", u.Scheme, u.Host)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	return endpoint{base: u.String(), name: u.String(), scheme: u.Scheme}, nil
}

// parseSocket is parseServer for unix:///path. The host that such a server is told is
// localhost, as curl's --unix-socket has it for http://localhost.
func parseSocket(u *url.URL) (endpoint, error) {
	switch {
	case u.User != nil:
		return endpoint{}, errors.New("the Server carries credentials: use Username and Password")
	case u.Host != "" || !path.IsAbs(u.Path) || path.Clean(u.Path) == "/":
		return endpoint{}, errors.New("the Server is a unix URL without an absolute path: want one such as unix:///run/api.sock")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return endpoint{}, fmt.Errorf("the Server unix://%s has a query or a fragment", u.Path)
	}
	return endpoint{base: "http://localhost", name: "unix://" + u.Path + ":", scheme: "http", socket: u.Path}, nil
}
