package writer

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/internal/writes"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/transport"
)

// DeleteOptions are the conditions and the manner of a [Writer.Delete].
type DeleteOptions struct {
	// UID and ResourceVersion are conditions: if the object has another UID or resourceVersion, the
	// server does not delete it, and the error is a conflict. The UID protects an object that was
	// created later with the same name. An empty field is no condition.
	UID             types.UID
	ResourceVersion string

	// Propagation says what happens to the objects that this one owns. If empty, the server uses
	// the default of the resource, usually metav1.DeletePropagationBackground.
	Propagation metav1.DeletionPropagation

	// GracePeriod is how long the object may take to end, rounded up to seconds. Only Pods take
	// time to end. If zero, the server uses the period in the object. If negative, there is no
	// grace period.
	GracePeriod time.Duration
}

// body returns what the server reads.
func (o DeleteOptions) body(dryRun bool) ([]byte, error) {
	body := metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}}
	if o.UID != "" || o.ResourceVersion != "" {
		body.Preconditions = &metav1.Preconditions{}
		if o.UID != "" {
			body.Preconditions.UID = &o.UID
		}
		if o.ResourceVersion != "" {
			body.Preconditions.ResourceVersion = &o.ResourceVersion
		}
	}
	if o.Propagation != "" {
		body.PropagationPolicy = &o.Propagation
	}
	if o.GracePeriod != 0 {
		body.GracePeriodSeconds = new(int64(math.Ceil(max(o.GracePeriod, 0).Seconds())))
	}
	if dryRun {
		body.DryRun = []string{metav1.DryRunAll}
	}
	return json.Marshal(body)
}

// Delete deletes the object under a key. If there is no such object, apierrors.IsNotFound is true
// for the error. An object with finalizers, or with a grace period, is still there when Delete
// returns: to wait until it has gone, use WaitUntil of an informer.
func (w *Writer[T]) Delete(ctx context.Context, key string, opts DeleteOptions) error {
	err := w.delete(ctx, key, opts)
	if err != nil {
		return w.describe("delete", key, err)
	}
	return nil
}

func (w *Writer[T]) delete(ctx context.Context, key string, opts DeleteOptions) error {
	call := call{key: key}
	path, err := w.path(call)
	if err != nil {
		return err
	}
	body, err := opts.body(w.opts.DryRun)
	if err != nil {
		return err
	}
	return w.write(ctx, call, func(ctx context.Context, done *writes.Write) error {
		resp, err := w.client.Do(ctx, http.MethodDelete, transport.Request{Path: path, Header: http.Header{"Content-Type": {"application/json"}}}, body)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.MediaType != "application/json" {
			return resp.UnexpectedContent() // a login page is no deletion
		}
		answer, err := io.ReadAll(io.LimitReader(resp.Body, format.MaxObjectBytes))
		deleted(answer, done)
		return err
	})
}

// deleted notes what the answer to a deletion says, which is a Status or the object. If it is
// neither, nothing more is known: the status code says that the object was deleted.
func deleted(answer []byte, done *writes.Write) {
	var is struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Details  struct {
			UID types.UID `json:"uid"`
		} `json:"details"`
	}
	_ = json.Unmarshal(answer, &is)
	left := is.Metadata
	done.UID, done.Version = cmp.Or(left.UID, is.Details.UID), left.ResourceVersion
	done.Labels, done.Labeled = left.Labels, left.Name != ""
	done.Deleted = left.DeletionTimestamp == nil || isGone(&left)
}

// isGone reports whether the server has deleted an object that it answers. It has if nothing keeps
// the object any longer; who removes the last finalizer gets the object with its version of before.
// A Namespace that is being deleted has no period of grace, and is kept by finalizers in its spec.
func isGone(obj metav1.Object) bool {
	grace := obj.GetDeletionGracePeriodSeconds()
	return obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && grace != nil && *grace == 0
}
