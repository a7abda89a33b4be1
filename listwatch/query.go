package listwatch

import (
	"net/url"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// queryOf returns the parameters of a request. What is empty is left out, but a pointer
// to it is not: timeoutSeconds=0 and sendInitialEvents=false say something.
func queryOf(opts *metav1.ListOptions) url.Values {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	flag := func(name string, on bool) {
		if on {
			query.Set(name, "true")
		}
	}
	set("labelSelector", opts.LabelSelector)
	set("fieldSelector", opts.FieldSelector)
	flag("watch", opts.Watch)
	flag("allowWatchBookmarks", opts.AllowWatchBookmarks)
	set("resourceVersion", opts.ResourceVersion)
	set("resourceVersionMatch", string(opts.ResourceVersionMatch))
	if opts.TimeoutSeconds != nil {
		query.Set("timeoutSeconds", strconv.FormatInt(*opts.TimeoutSeconds, 10))
	}
	if opts.Limit != 0 {
		query.Set("limit", strconv.FormatInt(opts.Limit, 10))
	}
	set("continue", opts.Continue)
	set("shardSelector", opts.ShardSelector)
	if opts.SendInitialEvents != nil {
		query.Set("sendInitialEvents", strconv.FormatBool(*opts.SendInitialEvents))
	}
	return query
}
