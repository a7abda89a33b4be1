// Package relay is a read-only API server in front of another one, for programs that watch the same
// resources on many machines: agents of a DaemonSet, replicas of a controller, dashboards. It is no
// cache inside of a program: package informer is. It does not help a handful of controllers,
// because an API server has the same cache.
//
// A [Relay] lists and watches each resource once, and answers any number of lists and watches from
// its cache (package watchcache). It speaks the Kubernetes protocol, with the resourceVersions of
// the upstream. So every client of Kubernetes can use it, and can go on with a watch at another
// relay or at the API server itself. What it does not have in its cache it reads from the upstream.
//
// It tells a reader nothing that the upstream would refuse to that reader: see
// [Options.Authenticate] and [Options.Authorize].
//
//	r, err := relay.New(client, relay.Options{
//		Resources:    resources,
//		Authenticate: relay.TokenReviews(client, 2*time.Minute),
//		Authorize:    relay.AccessReviews(client, 5*time.Minute, 30*time.Second),
//	})
//	go r.Run(ctx)
//	http.ListenAndServeTLS(":8443", cert, key, r)
//
// Begin with [New].
package relay
