package watchcache

import (
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// ErrNotCached is returned for a read that the cache cannot answer, and the storage behind it
	// perhaps can: the most recent state, or the state at a version before the window.
	ErrNotCached = errors.New("watchcache: not in the cache")

	// ErrNotReady is returned while the cache is not filled. It is a 429 that asks to come back
	// after a second.
	ErrNotReady error = apierrors.NewTooManyRequests("storage is (re)initializing", 1)

	// ErrRestarted ends a watcher, because its window has ended.
	ErrRestarted = errors.New("watchcache: the window has ended")

	// ErrSlow ends a watcher, because changes that it had not read have left the window.
	ErrSlow = errors.New("watchcache: the watcher is too slow")
)

// tooLarge returns the error for a version that the cache has not reached: a 504 that asks to come
// back after a second.
func tooLarge(want, have uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", want, have), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// tooOld returns the error for a watch that would begin before the window: a 410.
func tooOld(want, oldest uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", want, oldest))
}

// ParseVersion reads a resourceVersion. "" is 0. The text of the error is that of kube-apiserver.
func ParseVersion(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resourceVersion: Invalid value: %q: %w", s, err)
	}
	return n, nil
}
