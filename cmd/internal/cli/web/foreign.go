package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Local lets requests through to h that do not come from a web page of somebody else. Such a
// page reaches an address of this machine under a name that its author has made to resolve to
// it, or straight away, and the browser then says where the request comes from. hosts are
// names that requests may be for, besides addresses and localhost.
func Local(h http.Handler, hosts []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// No page shows an answer in a frame, runs it, or learns of it what its size and its time
		// tell.
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		if err := foreign(req, hosts); err != nil {
			w.Header().Set("Cache-Control", "no-store")
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, req)
	})
}

// foreign returns an error if a request is for a host that could be somebody else's name for
// this address, or if a browser sent it for a page from elsewhere. An address cannot be
// somebody else's: nobody makes an address resolve to another.
func foreign(req *http.Request, hosts []string) error {
	host := hostname(req.Host)
	if _, err := netip.ParseAddr(host); err != nil && host != "localhost" && !slices.ContainsFunc(hosts, func(h string) bool { return hostname(h) == host }) {
		return fmt.Errorf("the request is for the host %q, and the status is for addresses and localhost only, so that no web page "+
			"reads it under a name of its own; allow the name with --status-host", host)
	}
	if origin := req.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" || !strings.EqualFold(u.Host, req.Host) {
			return fmt.Errorf("the request comes from a page of %q, and the status is for no page of another", origin)
		}
	}
	// https://www.w3.org/TR/fetch-metadata/: who follows a link sees the answer, and the page that
	// has the link does not.
	switch site := req.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin":
	default:
		if req.Header.Get("Sec-Fetch-Mode") != "navigate" || req.Header.Get("Sec-Fetch-Dest") != "document" {
			return fmt.Errorf("the request comes from a page elsewhere (Sec-Fetch-Site: %q), and the status is for no page of another", site)
		}
	}
	return nil
}

// hostname is a Host header without its port, in lower case.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
