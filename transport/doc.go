// Package transport moves bytes between a program and a Kubernetes API server. Every program needs
// one [Client] of it for each server. It is no client of the API:
// it knows connections, credentials and requests, and nothing of objects or of the
// formats that they come in: package listwatch decodes what this package delivers, and
// its formats tell package frames, below this one, where an event begins and ends.
//
// A [Config], written by hand or read by [LoadKubeconfig] or [InCluster], makes
// a [Client]. A Client sends GET requests in two shapes:
//
//	resp, err := client.Get(ctx, transport.Request{Path: "/api/v1/pods"})
//	// resp.Body streams the answer; any status but 2xx is err.
//
//	stream, err := client.Watch(ctx, transport.Request{Path: "/api/v1/pods", Query: q, Frames: []frames.Format{json.Format{}}})
//	defer stream.Close()
//	for {
//		frame, err := stream.Next() // one event, as soon as its last byte is here
//		if err != nil {
//			break // io.EOF: the server ended the watch, as it does every few minutes
//		}
//		decode(frame.Data) // valid until the next call of Next
//	}
//
// [Client.Do] sends requests of other methods; package writer makes them. For all else that an
// API server offers, [Client.RoundTripper] lends the connections and credentials to an
// [http.Client].
//
// A stream is pulled, not pushed: it has no goroutine and no channel, so nothing is read ahead of
// the caller, and no error is lost. Only a stream that the caller does not close leaks.
//
// Every error of a request is a [RequestError] that says what was being done, to
// which URL. Under it, for errors.As and errors.Is, is one of these:
//
//   - *apierrors.StatusError: the server, or a proxy before it, said no;
//   - [UnexpectedContentError]: it said yes, in a format that cannot be right;
//   - [frames.Error], [frames.TooLargeError]: a watch stream that cannot be framed;
//   - io.ErrUnexpectedEOF: a watch that was cut, or a WebSocket that was closed, but not cleanly;
//   - the error of the network, of TLS, or of ctx.
//
// Credentials appear in no error.
//
// A watch travels in the body of a response, or as the messages of a WebSocket if
// [Config.WatchTransport] says so. To the reader of the Stream they are the same.
//
// Begin with [Config] and [NewClient].
package transport
